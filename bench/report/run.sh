#!/bin/sh
# What observing costs: instructions of a call of 8 bytes on one rank, without a report, with one and with a trace that
# keeps every call, counted by callgrind within the calls as the difference of 5,000 and 1,000 of them.
#   bench/report/run.sh build/release/lib/libtaquin_interpose.so [MOST]
# MOST: exit with 1 if a trace takes more than so many instructions a call, or if code of a report or a trace runs where
# neither was asked for. MPICC and MPIRUN name the compiler and the launcher.
set -eu
library=$(realpath "$1") most=${2:-}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${MPICC:-mpicc}" -O2 "$here/many_calls.c" -o "$work/many_calls"

instructions() {
  calls=$1
  shift
  "${MPIRUN:-mpirun}" -n 1 env LD_PRELOAD="$library" "$@" valgrind --tool=callgrind --toggle-collect=MPI_Alltoall \
    --callgrind-out-file="$work/out" "$work/many_calls" "$calls" 2>&1 | sed -n 's/.*Collected : //p'
}
# Functions of interpose/observe that the last run entered: a call's beginning and end, known calls, traced events.
observing() { grep -Eo 'taquin::interpose::(call_event|call_in_flight|known_calls|trace|recorder_state)::[a-z_]+' "$work/out" | sort -u; }

for setting in TAQUIN_REPORT=none TAQUIN_REPORT=summary TAQUIN_REPORT=full:/dev/null TAQUIN_TRACE=/dev/null; do
  few=$(instructions 1000 $setting)
  more=$(instructions 5000 $setting)
  each=$(((more - few) / 4000))
  echo "$setting $each instructions a call"
  [ -n "$most" ] || continue
  case $setting in
    *none)
      none=$each
      [ -z "$(observing)" ] || { echo "runs without a report: $(observing)" && exit 1; }
      ;;
    *TRACE*)
      [ -n "$(observing)" ] || { echo "a trace runs no code that is known here" && exit 1; }
      [ $((each - none)) -le "$most" ] || { echo "a trace takes $((each - none)) instructions, not $most" && exit 1; }
      ;;
  esac
done
