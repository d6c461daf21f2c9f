#!/bin/sh
# run.sh BIN OUT [RANKS [STEPS]]: peak memory and time of examples/particles.cpp, with taquin and with MPI_Alltoallv in
# turn, from 50,000 to 800,000 particles per rank, the median of 3 runs each. Into OUT/particles.txt, drawn as
# OUT/particles-light.svg and OUT/particles-dark.svg. Needs gnuplot.
set -eu
bin=$1 out=$2 ranks=${3:-4} steps=${4:-3}
mpirun=${MPIRUN:-mpirun}
mkdir -p "$out"
# Seconds and MiB of the run whose time is in the middle.
run() {
  for _ in 1 2 3; do
    "$mpirun" -n "$ranks" "$bin/example_particles" "$steps" "$@" |
      sed -n 's/^\([0-9.]*\) s; peak of a rank \([0-9.]*\) MiB.*/\1 \2/p'
  done | sort -n | sed -n 2p
}
echo "# particles per rank; MiB of particles; taquin: s, MiB; MPI_Alltoallv: s, MiB" > "$out/particles.txt"
for n in 50000 100000 200000 400000 800000; do
  echo "$n $(echo "$n" | awk '{printf "%.1f", $1 * 56 / 1048576}') $(run $n 65536 -1) $(run $n 65536 -1 alltoallv)"
done >> "$out/particles.txt"
for theme in light dark; do
  gnuplot -e "out='$out'; theme='$theme'" "$(dirname "$0")/plot.gp"
done
cat "$out/particles.txt"
