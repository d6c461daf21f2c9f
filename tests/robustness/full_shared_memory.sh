#!/bin/sh
# full_shared_memory.sh COMMAND…: runs it where /dev/shm is a small one of its own; with TAQUIN_TEST_NO_SHM=1, one where
# nothing can be made at all. Exit status 77 where that is not permitted.
set -u
unshare -m true 2> /dev/null || exit 77
exec unshare -m sh -c 'mount -t tmpfs -o "$0" tmpfs /dev/shm || exit 77; exec "$@"' "${TAQUIN_TEST_NO_SHM:+ro,}size=96m" "$@"
