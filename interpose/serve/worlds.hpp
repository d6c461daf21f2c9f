// Communicators that hold processes of another MPI_COMM_WORLD, which may be without this library or have decided
// otherwise. They are never served.
#pragma once

#include <mpi.h>

namespace taquin::interpose {

/// The same on all ranks of `comm`, an intracommunicator, also where one has no memory left. Local. Costs one look
/// until a first one has been merged.
bool in_one_world(MPI_Comm comm);

}  // namespace taquin::interpose
