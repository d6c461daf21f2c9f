#!/bin/sh
# run.sh BENCH_BRUCK OUT [REPETITIONS]: measures every experiment into OUT/bruck.txt and draws OUT/*.svg (needs gnuplot).
set -eu
bench=$1 out=$2 repetitions=${3:-40}
mkdir -p "$out"
{
  mpirun -n 1 "$bench" creation 300
  mpirun -n 1 "$bench" packing 300
  for p in 36 80; do
    mpirun -n $p "$bench" variants "$repetitions"
    mpirun -n $p "$bench" persistent "$repetitions"
  done
} > "$out/bruck.txt"
gnuplot -e "data='$out/bruck.txt'; out='$out'" "$(dirname "$0")/plot.gp"
