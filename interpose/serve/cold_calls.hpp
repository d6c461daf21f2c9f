// The first blocking exchanges on a communicator, which go to the MPI library: taquin's set-up of a communicator does
// not pay off for one that is used a few times.
#pragma once

#include <mpi.h>

namespace taquin::interpose {

/// How many of a communicator's blocking exchanges these are. MPI orders them identically on all ranks, so all ranks
/// count identically; nothing else is checked, because the settings of all ranks were compared at the start.
inline constexpr int most_cold_calls = 3;

/// Counts a blocking exchange on an intracommunicator; true for one of the first. Never if a variable or a rule
/// specifies how exchanges are done. Local.
bool is_cold(MPI_Comm comm);

}  // namespace taquin::interpose
