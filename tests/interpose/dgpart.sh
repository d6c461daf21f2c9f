#!/bin/sh
# dgpart.sh TAQUIN MPIRUN GRAPH.AWK RANKS ALGORITHM…: PT-Scotch partitions a graph, alone and with taquin underneath; the
# partitions must be the same. On 2 and 3 ranks its result does not depend on the order of arrival; on 4 it does. Its threads
# are turned off: with them its result differs from run to run.
set -eu
taquin=$1 mpirun=$2 awk=$3 ranks=$4
shift 4
if ! command -v dgpart > /dev/null; then
  echo "skipped: there is no dgpart (Debian package ptscotch)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export SCOTCH_DETERMINISTIC=1 SCOTCH_PTHREAD_NUMBER=1
awk -v n=8000 -f "$awk" > graph.grf
"$mpirun" -n "$ranks" dgpart -Cd 8 graph.grf alone.map
[ "$(wc -l < alone.map)" -eq 8001 ]
for algorithm; do
  export TAQUIN_RECORD="$work/$algorithm.json"
  "$mpirun" -n "$ranks" "$taquin" wrap -a "$algorithm" dgpart -Cd 8 graph.grf wrapped.map
  cmp alone.map wrapped.map || { echo "dgpart gives another partition under $algorithm"; exit 1; }
  grep -q '"kind":"alltoallv"' "$TAQUIN_RECORD" || { echo "no calls went through the library"; exit 1; }
done
