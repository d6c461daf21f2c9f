#!/bin/sh
# run.sh BENCH_BRUCK OUT [REPETITIONS]: measures every experiment into OUT/bruck.txt and draws OUT/*.svg (needs gnuplot).
set -eu
bench=$1 out=$2 repetitions=${3:-40}
mkdir -p "$out"
: > "$out/bruck.txt"
"$bench" creation 300 >> "$out/bruck.txt"
"$bench" packing 300 >> "$out/bruck.txt"
for p in 36 80; do
  mpirun -n $p "$bench" variants "$repetitions" >> "$out/bruck.txt"
  mpirun -n $p "$bench" persistent "$repetitions" >> "$out/bruck.txt"
done
gnuplot -e "data='$out/bruck.txt'; out='$out'" "$(dirname "$0")/plot.gp"
