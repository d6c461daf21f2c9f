#!/bin/sh
# verify.sh SPIN CC MODEL DIRECTORY CASE AUX deadlock|livelock [broken]: fails unless the whole state space was searched and
# holds no error; of a model that is broken on purpose, unless an error is found.
set -eu
mkdir -p "$4"
cd "$4"
"$1" -a "-DCASE=$5" "-DAUX=$6" "$3"
if [ "$7" = deadlock ]; then
  "$2" -O1 -w -DSAFETY -o pan pan.c
  ./pan -m50000 > result
else
  "$2" -O1 -w -DNP -o pan pan.c
  ./pan -l -m50000 > result
fi
cat result
if [ "${8:-}" = broken ]; then
  grep -q 'errors: [1-9]' result
  exit
fi
grep -q 'errors: 0' result && ! grep -q 'error: max search depth too small' result
