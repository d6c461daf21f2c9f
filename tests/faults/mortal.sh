#!/bin/sh
# mortal.sh PROGRAM RANKS WORLD TRIALS SEED MPIRUN…: trials of taquin_mortal, each on RANKS of the ranks that are alive,
# in as many jobs of WORLD ranks as it takes. MPIRUN may have options. ONLY="kill stop exit abort exception": some of
# these ways. AFTERWARDS: problems that the others do then. SURVIVES=1: the MPI library goes on without a rank; else
# mpirun ends a job in which one is lost, and a job is a trial. After each job no process may be left and no memory
# file, for which jobs have process numbers and /dev/shm of their own. Exit status 77: this machine cannot do that.
set -u
program=$1 ranks=$2 world=$3 trials=$4 seed=$5
if [ -z "${MORTAL_ALONE:-}" ]; then
  unshare -mpf true 2>/dev/null || exit 77
  exec env MORTAL_ALONE=1 unshare -mpf --mount-proc --kill-child sh "$0" "$@"
fi
shift 5
mount -t tmpfs tmpfs /dev/shm || exit 77
# MPI libraries name directories there by process numbers, which another of these scripts has as well.
TMPDIR=$(mktemp -d)
export TMPDIR
out=$TMPDIR/out
trap 'rm -rf "$TMPDIR"' EXIT
done=0 jobs=0 failures=0 after=0 ended=0 at_steps=0 missed=0

processes() { ps -eo comm= | grep -vc '^\(sh\|ps\|grep\|sleep\)$'; }

fail() {
  failures=$((failures + 1))
  echo "mortal: job with --seed $seed --first $first: $1"
  tail -n 400 "$out"
}

# What is left of a job when mpirun has ended; its daemons may take a moment.
look_for_remains() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(processes)" -gt 0 ] || break
    sleep 0.2
  done
  if [ "$(processes)" -gt 0 ]; then
    fail "processes are left: $(ps -eo pid,args | tr '\n' ';')"
    kill -9 -1 2>/dev/null
  fi
  left=$(ls -A /dev/shm)
  [ -z "$left" ] || fail "left in /dev/shm: $left"
  rm -rf /dev/shm/*
}

while [ "$done" -lt "$trials" ] && [ "$failures" -lt 5 ]; do
  first=$done
  jobs=$((jobs + 1))
  begun=$(date +%s)
  timeout 180 "$@" -n "$world" "$program" --seed "$seed" --first "$first" --trials $((trials - done)) --ranks "$ranks" \
    --afterwards "${AFTERWARDS:-100}" --show ${ONLY:+--only $ONLY} >"$out" 2>&1 </dev/null
  result=$?
  seconds=$(($(date +%s) - begun))
  begun_trials=$(grep -c '^[0-9]*: \(kill\|stop\|exit\|abort\|exception\) of rank' "$out")
  [ $result != 124 ] || fail "not over after 180 s"
  if grep -q 'Segmentation fault\|Bus error\|signal 11\|signal 7 \|^mortal: rank\|soak: hang' "$out"; then
    fail "a rank that goes on has crashed, hangs, or is wrong"
  elif grep -q '^mortal: [0-9]* trials of .* 0 failures' "$out"; then
    after=$(awk -v m="$after" '/^mortal: / { for (i = 1; i < NF; ++i) if ($i == "longest" && $(i + 1) > m) m = $(i + 1) }
      END { print m + 0 }' "$out")
  elif [ "${SURVIVES:-0}" = 1 ]; then
    fail "the ranks that are left do not come to an end"
  else
    ended=$((ended + 1))
    [ "$seconds" -le 120 ] || fail "mpirun took $seconds s to end the job"
  fi
  [ "$begun_trials" -gt 0 ] || { fail "nothing was tried"; break; }
  done=$((done + begun_trials))
  at_steps=$((at_steps + $(grep -c '^[0-9]*: \(kill\|exit\|abort\) of rank.* at step ' "$out")))
  missed=$((missed + $(grep -c '^mortal: the call had fewer steps' "$out")))
  look_for_remains
done
if [ "$at_steps" -ge 4 ] && [ "$missed" -ge "$at_steps" ]; then
  failures=$((failures + 1))
  echo "mortal: $at_steps ranks were to be lost at a step, and none was"
fi
echo "mortal: in all $done trials on $ranks ranks in $jobs jobs, $ended of which mpirun ended, $failures failures," \
  "$at_steps lost at a step ($missed of them behind it), longest way out of a call $after s"
[ "$failures" = 0 ]
