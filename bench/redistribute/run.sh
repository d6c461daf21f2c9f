#!/bin/sh
# The five experiments of Siegel & Siegel, scaled: run.sh TAQUIN OUT [BYTES] [MPIRUN]. Records and plots go to OUT.
# Needs gnuplot and jq for the plots.
set -eu
taquin=$1 out=$2 bytes=${3:-8M} mpirun=${4:-mpirun}
here=$(dirname "$0")
mkdir -p "$out"

# experiment NAME X RANKS ARGS…: one line "x algorithm seconds ratio copied" per algorithm in NAME.dat
experiment() {
  name=$1 x=$2 ranks=$3
  shift 3
  "$mpirun" -n "$ranks" "$taquin" redistribute -b "$bytes" --block-bytes 16000 --reps 5 --json "$out/$name-$x.json" "$@"
  jq -r --arg x "$x" '.[] | "\($x) \(.algorithm) \(.median_s) \(.ratio_to_native) \(.bytes_copied)"' \
    "$out/$name-$x.json" >> "$out/$name.dat"
}

rm -f "$out"/*.dat
quick=slots,local_copy_efficient,cyclic
for p in 2 4 8 16; do
  experiment full_shift $p $p -w shift -a $quick
  experiment shift_with_space $p $p -w shift --free 20% -a all
  experiment one_empty $p $p -w one_empty -a all
  experiment transpose $p $p -w transpose --free 20% -a all
done
for free in 50 40 30 20 10 5 2; do
  experiment vanishing_space $free 8 -w shift --free $free% -a all
done
experiment vanishing_space 0 8 -w shift -a $quick

for name in full_shift shift_with_space vanishing_space one_empty transpose; do
  gnuplot -e "name='$name'; dir='$out'" "$here/plot.gp"
done
