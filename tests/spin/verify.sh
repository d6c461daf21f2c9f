#!/bin/sh
# verify.sh SPIN CC MODEL DIRECTORY CASE AUX deadlock|livelock: fails unless the whole state space was searched and
# holds no error.
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
grep -q 'errors: 0' result && ! grep -q 'error: max search depth too small' result
