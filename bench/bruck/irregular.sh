#!/bin/sh
# irregular.sh TAQUIN OUT: exchanges of blocks of different sizes among 8 ranks, blocking and as plans. Needs jq.
set -eu
taquin=$1 out=$2
for how in "" --persistent; do
  for bytes in 75 1K 4K 16K; do
    mpirun -n 8 "$taquin" run -w random -b $bytes --per-pair -a bruck_v,zero_copy_bruck_v,spread_out $how --reps ${REPETITIONS:-30} --json -
  done
done | jq -s 'add' > "$out/irregular.json"
