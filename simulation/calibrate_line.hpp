// The cost of a cache line that a rank writes and another one of its node reads: the parameter of exchanges through
// shared memory that cannot be derived from the messages of a calibration.
#pragma once

#include <mpi.h>

#include <span>

#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// A barrier in which early ranks sleep, so that they do not use cores of ranks that still measure: the cost of
/// oversubscription belongs to the wait of the model.
void sleep_until_all_are_here(MPI_Comm comm);

/// Collective. `first_of_machine` has for each rank the first one of its machine. Rank 0 measures with the nearest and
/// with the farthest rank of its node, which may be on another socket; the mean of both, the same on all ranks.
/// `otherwise` if rank 0 shares memory with no other.
seconds measure_line(MPI_Comm comm, std::span<const int> first_of_machine, seconds otherwise);

}  // namespace taquin::detail
