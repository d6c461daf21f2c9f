// Communicators of some ranks of another communicator.
#pragma once

#include <mpi.h>

#include <span>

#include "mpi/communicator.hpp"
#include "mpi/owned.hpp"

namespace taquin::mpi {

/// Divides `comm`: `ranks` are those of this rank's group, in the new communicator's order; none where it is in no
/// group, for which the result is null. No rank is in two groups. Collective over `comm`. Calls with different numbers,
/// from 0 to the size of `comm`, may cross, of ranks that are in a group.
///
/// Open MPI 4.1 makes the communicator by messages on `comm` with the caller's tag: no message of an exchange has it.
///
/// If the MPI library survives dead ranks, all ranks of `comm` make the communicators together (MPI_Comm_create).
/// MPI_Comm_create_group involves the group's ranks alone, but in Open MPI 6.0rc2 it does not return when one of them
/// has died (bench/dead_ranks).
owned_comm create_groups(const communicator& comm, std::span<const int> ranks, int number = 0);

/// Which ranks of `other` the ranks of `comm` from `begin` on are, one for each of the `places`; MPI_UNDEFINED for a
/// rank that is not in it. Local.
void translate_ranks(MPI_Comm comm, int begin, MPI_Comm other, std::span<int> places);

}  // namespace taquin::mpi
