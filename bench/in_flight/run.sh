#!/bin/sh
# run.sh BUILD [RANKS...]: the most messages, and bytes of them, that are at a rank which has not asked for them, and the
# most of one rank that nobody has taken: Open MPI's alltoallv and taquin's, all ranks on this machine (16 unless
# RANKS says otherwise), with BUILD/bin/bench_in_flight. LATE: milliseconds per rank that rank 0 comes late, 20. CALLS:
# how many are counted, 100. OPTIONS: more of the program's, as --first: what taquin's first call on a communicator makes
# the MPI library send.
set -eu
build=$1
shift
[ $# -gt 0 ] || set -- 16
export TAQUIN_SHARED_MEMORY=0 OMPI_MCA_mpi_yield_when_idle=1
echo "ranks pattern     calls of      messages      bytes  untaken"
for ranks in "$@"; do
  mpirun --oversubscribe --mca pml ob1 -n "$ranks" "$build/bin/bench_in_flight" --late $((${LATE:-20} * ranks)) \
    --calls "${CALLS:-100}" ${OPTIONS:+$OPTIONS}
done
