#!/bin/sh
# run.sh TAQUIN [KINDS]: how long exchanges take on one node, as a JSON array on standard output, for results/node. Each object
# has the time of `auto` relative to the MPI library's own call, measured in turn; its median time and 95% interval; and that
# time relative to copying as many bytes by memcpy on all ranks at the same time (the MPI library's call, all to itself). Blocks
# lie in the ranks' own buffers except in "shared". RANKS, SIZES (bytes per pair), REPETITIONS (10) and MPIRUN may be set.
# Needs jq.
set -eu
taquin=$1
kinds=${2:-random equal sparse zipf shared plans}
mpirun=${MPIRUN:-mpirun}
ranks=${RANKS:-2 4 8 16 32}
sizes=${SIZES:-8 512 4K 16K 64K 256K 1M 4M}
most=$((512 << 20)) # bytes that all ranks together send
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bytes_of() { echo "$1" | sed 's/K/*1024/; s/M/*1048576/'; }

# measure FILE RANKS ARGUMENTS…: the records.
measure() {
  file=$1
  p=$2
  shift 2
  "$mpirun" -n "$p" "$taquin" run --per-pair --reps "${REPETITIONS:-10}" --json "$file" "$@" > /dev/null
}

for kind in $kinds; do
  case $kind in
    random) arguments="-w random" ;;
    equal) arguments="-w uniform --collective alltoall" ;;
    sparse) arguments="-w sparse:2" ;;
    zipf) arguments="-w zipf" ;;
    shared) arguments="-w random --shared-buffers" ;;
    plans) arguments="-w random --persistent" ;;
    *) echo "run.sh: no kind '$kind'" >&2; exit 2 ;;
  esac
  for size in $sizes; do
    bytes=$(($(bytes_of "$size")))
    [ "$kind" != shared ] || [ "$bytes" -ge 16384 ] || continue
    for p in $ranks; do
      [ $((bytes * p * p)) -le "$most" ] || continue
      # shellcheck disable=SC2086
      measure "$work/$kind" "$p" $arguments -b "$size" -a auto
      [ -e "$work/copy-$p-$size" ] || measure "$work/copy-$p-$size" "$p" -w self -b "$size" -a native
      jq -c --arg kind "$kind" --argjson bytes "$bytes" --slurpfile copy "$work/copy-$p-$size" '
        .[-1] | {kind: $kind, ranks, bytes_per_pair: $bytes, ratio_to_native, median_s, ci95_s,
                 ratio_to_copy: (.median_s / $copy[0][0].median_s)}' "$work/$kind"
    done
  done
done | jq -s .
