// Survivors of a redistribution agree on the place of each block.
#pragma once

#include <mpi.h>

#include "mpi/communicator.hpp"
#include "protocol/store.hpp"
#include "redistribute/check_map.hpp"
#include "taquin/failure.hpp"

namespace taquin::detail {

/// Puts staged blocks of `map` into free places of the array `units`, as far as there are any: into their own place
/// where that is one. Local.
void unstage(failure::block_map& map, store& units);

/// Removes blocks from each rank's `map` that another rank has as well, and from what is missing those that another
/// rank has. A block stays where it has arrived, otherwise with one of the ranks that have it. `over`: all blocks for
/// this rank have arrived. Ranks of the map are those of `before`, of which those of `now` are left. Collective over
/// `now`.
void have_once(failure::block_map& map, bool over, MPI_Comm before, mpi::communicator& now);

/// Adds to each block in the `map`s, which have_once has made, its previous place: its peer and offset become the rank
/// and place that had it. `given`: this rank's destinations; all blocks of `over` are where they belong. Blocks of this
/// rank that no rank has are missing. Collective over `now`.
void report_origins(failure::block_map& map, bool over, const given_map& given, MPI_Comm before,
                    mpi::communicator& now);

}  // namespace taquin::detail
