#!/bin/sh
# alike.sh MPIRUN RANKS LIBRARY EXPECTED PROGRAM ARGUMENT…: the program prints the same alone and with LIBRARY underneath,
# and the report of the latter has a line of which EXPECTED, a regular expression, is a part.
set -eu
mpirun=$1 ranks=$2 library=$3 expected=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$mpirun" -n "$ranks" "$@" | sort > "$work/alone"
[ "$(wc -l < "$work/alone")" -eq "$ranks" ]
"$mpirun" -n "$ranks" env LD_PRELOAD="$library" TAQUIN_REPORT=summary "$@" 2> "$work/report" | sort > "$work/preloaded"
cat "$work/preloaded" "$work/report"
cmp "$work/alone" "$work/preloaded"
grep -Eq "$expected" "$work/report" || { echo "no such line in the report: $expected"; exit 1; }
