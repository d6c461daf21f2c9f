// Survivors of a redistribution agree on who has which block.
#pragma once

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "protocol/store.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// Puts staged blocks of `map` into free places of the array `units`, as far as there are any: into their own place
/// where that is one. Local.
void unstage(failure::block_map& map, store& units);

/// Removes blocks from each rank's `map` that another rank has as well. A block stays where it has arrived, otherwise
/// with one of the ranks that have it. `over`: all blocks for this rank have arrived. Ranks of the map are those of
/// `before`, of which those of `now` are left. Collective over `now`.
void have_once(failure::block_map& map, bool over, MPI_Comm before, mpi::communicator& now);

}  // namespace taquin::detail
