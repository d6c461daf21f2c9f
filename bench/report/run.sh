#!/bin/sh
# What observing costs: instructions of a call of 8 bytes on one rank, without a report and with one, counted by
# callgrind as the difference of 11,000 and 1,000 calls.
#   bench/report/run.sh build/release/lib/libtaquin_interpose.so
# MPICC and MPIRUN name the compiler and the launcher.
set -eu
library=$(realpath "$1")
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${MPICC:-mpicc}" -O2 "$here/many_calls.c" -o "$work/many_calls"

instructions() {
  calls=$1
  shift
  "${MPIRUN:-mpirun}" -n 1 env LD_PRELOAD="$library" "$@" valgrind --tool=callgrind \
    --callgrind-out-file="$work/out" "$work/many_calls" "$calls" 2>&1 | sed -n 's/.*Collected : //p'
}
for setting in TAQUIN_REPORT=none TAQUIN_REPORT=summary TAQUIN_REPORT=full:/dev/null TAQUIN_TRACE=/dev/null; do
  few=$(instructions 1000 $setting TAQUIN_TRACE_LIMIT=0)
  more=$(instructions 11000 $setting TAQUIN_TRACE_LIMIT=0)
  echo "$setting $(((more - few) / 10000)) instructions a call"
done
