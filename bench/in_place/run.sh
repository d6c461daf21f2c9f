#!/bin/sh
# run.sh BIN OUT [REPETITIONS [BYTES]]: measures every experiment with the programs in BIN into OUT/*.json and draws
# OUT/*.svg. EXPERIMENTS limits it to some of them. Needs jq and gnuplot.
set -eu
bin=$1 out=$2 repetitions=${3:-9} bytes=${4:-52428800}
mpirun=${MPIRUN:-mpirun}
mkdir -p "$out"
for e in ${EXPERIMENTS:-parts memory size sparse shares blocks scale}; do
  case $e in
  shares)
    for p in 2 4 8; do "$mpirun" -n $p "$bin/bench_in_place" shares "$repetitions" "$bytes"; done ;;
  blocks) # the algorithms of MADRE move equal blocks; 1% of the blocks are free
    for p in 2 4 8; do
      "$mpirun" -n $p "$bin/taquin" redistribute -w random -b "$bytes" --block-bytes 16384 --free 1% \
        -a slots,basic_phases --reps "$repetitions" --json - 2> "$out/errors" \
        || { cat "$out/errors" >&2; exit 1; }
    done | jq -c '.[] | .experiment = "blocks" | .x = .ranks | .variant = .algorithm'
    rm -f "$out/errors" ;;
  scale)
    "$bin/bench_in_place_scale" ;;
  *)
    "$mpirun" -n 8 "$bin/bench_in_place" $e "$repetitions" "$bytes" ;;
  esac | jq -s . > "$out/$e.json"
done
gnuplot -e "dir='$out'" "$(dirname "$0")/plot.gp"
