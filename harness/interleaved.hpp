// The loop of a benchmark that compares steps of all ranks in one run.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "mpi/check.hpp"

namespace taquin::harness {

/// The time of a step on the slowest rank, in seconds; all ranks begin it together. Collective.
template <class Step>
double slowest(Step step) {
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  step();
  double time = MPI_Wtime() - begin;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return time;
}

/// Calls round() `least` times, and then until rank 0 has measured for so many seconds. Collective.
template <class Round>
void interleave(double seconds, std::size_t least, Round round) {
  const double begin = MPI_Wtime();
  std::size_t rounds = 0;
  for (int again = 1; again != 0;) {
    round();
    again = ++rounds < least || MPI_Wtime() - begin < seconds ? 1 : 0;
    TAQUIN_MPI(MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
}

}  // namespace taquin::harness
