#!/bin/sh
# by_rank.sh FIRST… :: OTHERS…: under mpirun, rank 0 becomes the command FIRST, all others OTHERS. For launchers that do not
# take several commands: mpirun of Open MPI 5.0.7 crashes.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}
first=
while [ "$1" != :: ]; do
  first="$first $1"
  shift
done
shift
[ "$rank" = 0 ] || exec "$@"
# shellcheck disable=SC2086
exec $first
