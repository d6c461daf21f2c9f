#!/bin/sh
# run.sh TAQUIN [KINDS]: how long exchanges take on one node, as tables, on standard output. In each cell the time of `auto`
# as a multiple of the MPI library's own call, measured in turn; its median time; and that time as a multiple of what copying
# as many bytes takes, by memcpy, on all ranks at once (the MPI library's call, all to itself). Blocks lie in the ranks' own
# buffers except in "shared". RANKS, SIZES (bytes per pair), REPETITIONS (10) and MPIRUN may be set. Needs jq.
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
    random) title="alltoallv, random sizes" arguments="-w random" ;;
    equal) title="alltoall" arguments="-w uniform --collective alltoall" ;;
    sparse) title="alltoallv, to two others" arguments="-w sparse:2" ;;
    zipf) title="alltoallv, sizes by Zipf's law" arguments="-w zipf" ;;
    shared) title="alltoallv, random sizes, shared buffers" arguments="-w random --shared-buffers" ;;
    plans) title="plans, random sizes" arguments="-w random --persistent" ;;
    *) echo "run.sh: no kind '$kind'" >&2; exit 2 ;;
  esac
  printf '| %s; bytes per pair |' "$title"
  for p in $ranks; do printf ' p = %s |' "$p"; done
  printf '\n|---|'
  for p in $ranks; do printf -- '---|'; done
  printf '\n'
  for size in $sizes; do
    bytes=$(($(bytes_of "$size")))
    [ "$kind" != shared ] || [ "$bytes" -ge 16384 ] || continue
    printf '| %s |' "$size"
    for p in $ranks; do
      if [ $((bytes * p * p)) -gt "$most" ]; then
        printf '  |'
        continue
      fi
      # shellcheck disable=SC2086
      measure "$work/$kind" "$p" $arguments -b "$size" -a auto
      [ -e "$work/copy-$p-$size" ] || measure "$work/copy-$p-$size" "$p" -w self -b "$size" -a native
      jq -rj --slurpfile copy "$work/copy-$p-$size" '
        def rounded: if . >= 100 then round elif . >= 10 then (. * 10 | round) / 10 else (. * 100 | round) / 100 end;
        def time: . * 1e6 | if . >= 1000 then "\(. / 1000 | rounded) ms" else "\(rounded) us" end;
        .[-1] | " \(.ratio_to_native | rounded) (\(.median_s | time), \(.median_s / $copy[0][0].median_s | rounded)) |"' \
        "$work/$kind"
    done
    printf '\n'
  done
  printf '\n'
done
