#!/bin/sh
# run.sh BUILD [TRIALS [FUNCTION...]]: how functions of the MPI library that make communicators end when a rank is
# killed meanwhile, on 4 ranks, without taquin: in each of TRIALS (20) all other ranks come back with an error, one
# hangs, or one crashes. FUNCTION: group, create, split, dup; all of them. With an MPI library that goes on (Open MPI 5
# or later).
set -eu
build=$1 trials=${2:-20}
shift
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- group create split dup
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for function in "$@"; do
  ends=0 hangs=0 crashes=0 k=0
  while [ "$k" -lt "$trials" ]; do
    after=$((k % 4 == 0 ? 0 : k * 7919 % 30000 + 1))  # microseconds
    timeout 60 mpirun --with-ft ulfm --oversubscribe -n 4 "$build/bin/bench_communicators" "$function" "$after" \
      >"$out" 2>&1 </dev/null || true
    if grep -q '^hangs' "$out"; then
      hangs=$((hangs + 1))
    elif grep -q 'Signal: Segmentation' "$out"; then
      crashes=$((crashes + 1))
    elif [ "$(grep -c '^ends' "$out")" -eq 3 ]; then
      ends=$((ends + 1))
    fi
    k=$((k + 1))
  done
  other=$((trials - ends - hangs - crashes))
  echo "$function: of $trials, $ends end in errors, $hangs hang, $crashes crash, $other other"
done
