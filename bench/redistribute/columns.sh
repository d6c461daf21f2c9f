#!/bin/sh
# columns.sh BIN OUT: migrations of eight arrays beside copies to and from further arrays; writes OUT/columns.json.
set -eu
for p in 2 4 8; do
  for items in 10000 100000 1000000; do
    mpirun -n $p "$1/bench_columns" --items $items --seconds "${SECONDS_EACH:-1}" --json
  done
done | sed -n '/^{/p' | sed '$!s/$/,/; 1s/^/[\n/; $s/$/\n]/' >"$2/columns.json"
