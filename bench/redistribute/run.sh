#!/bin/sh
# run.sh TAQUIN OUT [BYTES]: the five experiments of Siegel & Siegel, scaled to BYTES per rank (8M) in blocks of 16000
# bytes, with every algorithm, and the same for the growth with the number of ranks without space; records go to
# OUT/*.json, drawings to OUT/*.svg. EXPERIMENTS limits it to some of them. An algorithm that takes longer than LIMIT
# seconds (10) for a point's REPETITIONS (5) is left out there. Needs jq and gnuplot.
set -eu
taquin=$1 out=$2 bytes=${3:-8M} limit=${LIMIT:-10} repetitions=${REPETITIONS:-5}
mpirun=${MPIRUN:-mpirun}
mkdir -p "$out"

# point X RANKS ARGS…: the records of all algorithms; native's comes with the first.
point() {
  x=$1 ranks=$2
  shift 2
  wanted=all
  for a in slots cyclic parking basic_phases; do
    status=0
    timeout "$limit" "$mpirun" -n "$ranks" "$taquin" redistribute -b "$bytes" --block-bytes 16000 --reps "$repetitions" \
      -a $a "$@" --json - > "$out/records" 2> "$out/errors" < /dev/null || status=$?
    case $status in
    0) jq -c --arg x "$x" --arg wanted "$wanted" '.[] | select($wanted == "all" or .algorithm != "native") |
         .x = ($x | tonumber) | del(.over_time)' "$out/records"
       wanted=own ;;
    124) echo "$x: $a takes more than $limit s" >&2 ;;
    *) cat "$out/errors" >&2; exit 1 ;;
    esac
  done
}

counts=${RANKS:-2 4 8 16}
for e in ${EXPERIMENTS:-full_shift shift_with_space vanishing_space one_empty transpose}; do
  case $e in
  full_shift) for p in $counts; do point "$p" "$p" -w shift; done ;;
  shift_with_space) for p in $counts; do point "$p" "$p" -w shift --free 20%; done ;;
  vanishing_space) for f in 50 40 30 20 10 5 2 1 0; do point $f 8 -w shift --free $f%; done ;;
  one_empty) for p in $counts; do point "$p" "$p" -w one_empty; done ;;
  transpose) for p in $counts; do point "$p" "$p" -w transpose --free 20%; done ;;
  esac | jq -s . > "$out/$e.json"
done
rm -f "$out/records" "$out/errors"
gnuplot -e "dir='$out'" "$(dirname "$0")/plot.gp"
