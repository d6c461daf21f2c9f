#!/bin/sh
# two_runs.sh TAQUIN [RANKS [SIZES]]: do two runs of `taquin run --osu --until 2%` agree? Times in us by size, as a table; the
# exit status is 1 where the medians (P50) of a size differ by more than 5%, or a byte was wrong. Needs an idle machine.
# MPIRUN names the launcher.
set -eu
taquin=$1 ranks=${2:-2} sizes=${3:-8..1M}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for run in 1 2; do
  "${MPIRUN:-mpirun}" -n "$ranks" "$taquin" run --osu -a auto -b "$sizes" --until 2% | grep -v '^#' > "$work/$run"
done
# Columns: size, average, least, most, iterations, P50, P90, P99, Pass.
paste "$work/1" "$work/2" | awk '
  function apart(a, b) { return 100 * (a > b ? a / b - 1 : b / a - 1) }
  BEGIN {
    print "| bytes per pair | P50, first run | second run | apart | average, first run | second run | apart |"
    print "|---|---|---|---|---|---|---|"
  }
  {
    printf "| %d | %.2f | %.2f | %.1f%% | %.2f | %.2f | %.1f%% |\n", $1, $6, $15, apart($6, $15), $2, $11, apart($2, $11)
    if (apart($6, $15) > 5 || $9 != "Pass" || $18 != "Pass") bad = 1
  }
  END { exit bad || NR == 0 }'
