#!/bin/sh
# migrating.sh BIN OUT: migrations with memory limits beside copies to and from a second array; writes OUT/migrating.json.
set -eu
run() {
  mpirun -n "$1" "$bin/bench_migrating" --elements "$2" --element-bytes "$3" --memory "$4" --seconds "${SECONDS_EACH:-1}" --json ${5:+"$5"}
}
bin=$1
{
  for p in 2 4 8; do
    run $p 1000000 8 1
    run $p 100000 56 1
    run $p 10000 1024 1
  done
  for percent in 0.1 10 0; do run 4 100000 56 $percent; done
  for percent in 1 10; do run 4 100000 56 $percent --twice; done
} | sed -n '/^{/p' | sed '$!s/$/,/; 1s/^/[\n/; $s/$/\n]/' >"$2/migrating.json"
