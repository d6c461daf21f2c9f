#!/bin/sh
# What observing costs: instructions of a call of 8 bytes on one rank, without a report, with one and with a trace that
# keeps every call, counted by callgrind within the calls as the difference of 5,000 and 1,000 of them; and those that a
# summary takes in MPI_Finalize for each call, where two kinds take turns.
#   bench/report/run.sh build/release/lib/libtaquin_interpose.so [MOST]
# MOST: exit with 1 if a trace takes more than so many instructions a call, or if code of a report or a trace runs where
# neither was asked for, or if MPI_Finalize takes longer the more calls there were. MPICC and MPIRUN name the compiler and the launcher.
set -eu
library=$(realpath "$1") most=${2:-}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${MPICC:-mpicc}" -O2 "$here/many_calls.c" -o "$work/many_calls"

# instructions WITHIN SETTING CALLS [turns]
instructions() {
  within=$1 setting=$2
  shift 2
  "${MPIRUN:-mpirun}" -n 1 env LD_PRELOAD="$library" "$setting" valgrind --tool=callgrind --toggle-collect="$within" \
    --callgrind-out-file="$work/out" "$work/many_calls" "$@" 2>&1 | sed -n 's/.*Collected : //p'
}
# Functions of interpose/observe that the last run entered: a call's beginning and end, known calls, traced events.
observing() { grep -Eo 'taquin::interpose::(call_event|call_in_flight|known_calls|trace|recorder_state)::[a-z_]+' "$work/out" | sort -u; }

for setting in TAQUIN_REPORT=none TAQUIN_REPORT=summary TAQUIN_REPORT=full:/dev/null TAQUIN_TRACE=/dev/null; do
  few=$(instructions MPI_Alltoall $setting 1000)
  more=$(instructions MPI_Alltoall $setting 5000)
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
few=$(instructions MPI_Finalize TAQUIN_REPORT=summary 1000 turns)
more=$(instructions MPI_Finalize TAQUIN_REPORT=summary 5000 turns)
each=$(((more - few) / 4000))
echo "MPI_Finalize $each instructions for each call before it"
[ -z "$most" ] || [ "$each" -le 10 ] || { echo "a summary should not keep each call" && exit 1; }
