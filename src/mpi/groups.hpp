// Communicators of some ranks of another.
#pragma once

#include <mpi.h>

#include <span>

#include "mpi/owned.hpp"

namespace taquin::mpi {

/// The given ranks of `comm`, in this order. Collective over them alone; calls with different tags may cross.
owned_comm create_group(MPI_Comm comm, std::span<const int> ranks, int tag);

}  // namespace taquin::mpi
