#!/bin/sh
# The first step of a program on PETSc's star forests, with all that PETSc and the all-to-all calls make for it, and the steps
# that follow, as they are and with taquin underneath, in turn:
#   bench/programs/first.sh build/release RANKS REPETITIONS
# Medians of the slowest rank's microseconds, by PETSc's messages, neighbourhood calls, and persistent ones; the pattern of
# MPI_Ialltoall is in all of them.
set -eu
build=$(realpath "$1") ranks=$2 repetitions=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for kind in messages neighbours persistent; do
  case $kind in
    messages) options= ;;
    neighbours) options="-sf_type neighbor" ;;
    persistent) options="-sf_type neighbor -sf_neighbor_persistent" ;;
  esac
  for _ in $(seq "$repetitions"); do
    for way in plain preload; do
      [ $way = plain ] && library= || library=$build/lib/libtaquin_interpose.so
      # shellcheck disable=SC2086
      mpirun.openmpi -n "$ranks" env LD_PRELOAD="$library" "$build/bin/interpose_star_forest" $options -steps 1000 -times \
        < /dev/null | sed -n "s/^\([a-z]*\): first step \([0-9.]*\), others \([0-9.]*\)/$kind \1 $way \2 \3/p" >> "$work/times"
    done
  done
done
echo "| calls | pattern | by | first step | others |"
echo "|---|---|---|---|---|"
median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
for kind in messages neighbours persistent; do
  for pattern in forest alltoall; do
    for way in plain preload; do
      chosen=$(grep "^$kind $pattern $way " "$work/times")
      echo "| $kind | $pattern | $way | $(echo "$chosen" | cut -d' ' -f4 | median) | $(echo "$chosen" | cut -d' ' -f5 | median) |"
    done
  done
done
