#!/bin/sh
# Communicators that are used for a few exchanges, as they are and with taquin preloaded, in turn:
#   bench/few_calls/run.sh build/release [REPETITIONS] > results/node/few-calls.txt
# Each line: ranks, calls on each communicator, microseconds of all of them by the MPI library, and with taquin.
set -eu
build=$(realpath "$1")
for _ in $(seq "${2:-9}"); do
  for ranks in 2 4 8; do
    for calls in 1 3 4 20; do
      measure() { mpirun -n "$ranks" env "$@" "$build/bin/bench_few_calls" "$calls" 300 < /dev/null; }
      echo "$ranks $calls $(measure LD_PRELOAD=) $(measure LD_PRELOAD="$build/lib/libtaquin_interpose.so")"
    done
  done
done
