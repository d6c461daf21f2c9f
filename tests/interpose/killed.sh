#!/bin/sh
# killed.sh HOW COMMAND…: a job whose COMMAND HOW ends badly leaves nothing of taquin's in /dev/shm or in TMPDIR, no
# process, and says that it has failed.
set -u
how=$1
shift
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
mark=killed-$$
before=$(ls /dev/shm)
"$@" "$how" "$mark" >"$TMPDIR/said" 2>&1 && { echo "the job ended well"; exit 1; }

# What is new and taquin's; other jobs may have a name for a moment.
left() {
  for name in $(ls /dev/shm); do
    case $name in taquin*) echo "$before" | grep -qx "$name" || echo "/dev/shm/$name" ;; esac
  done
  find "$TMPDIR" -name '*taquin*'
  grep -lsa "kille[d]-$$" /proc/[0-9]*/cmdline # not this grep itself
}
tries=0
while [ -n "$(left)" ]; do
  tries=$((tries + 1))
  [ $tries -gt 100 ] && { echo "left:"; left; exit 1; }
  sleep 0.1
done
echo "nothing is left"
