// What a cache line costs that a rank writes and another one of its node reads: the parameter of exchanges through
// shared memory that the messages of a calibration do not tell.
#pragma once

#include <mpi.h>

#include <span>

#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// A barrier in which early ranks sleep, so that they do not take processors from ranks that still measure: the cost of
/// sharing processors belongs to the wait of the model.
void sleep_until_all_are_here(MPI_Comm comm);

/// Collective. `first_of_machine` tells for each rank the first one of its machine. Rank 0 measures with the nearest
/// and with the farthest rank of its node, which may be on another socket; the mean of both, the same on all ranks.
/// `otherwise` where rank 0 shares memory with nobody.
seconds measure_line(MPI_Comm comm, std::span<const int> first_of_machine, seconds otherwise);

}  // namespace taquin::detail
