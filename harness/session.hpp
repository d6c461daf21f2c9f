// MPI around a program's work, and messages that appear once whatever the number of ranks.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>

#include "harness/errors.hpp"

namespace taquin::harness {

/// True on one process of a job, according to the launcher's environment.
bool first_of_launcher();

/// Prints on rank 0 alone. For texts that all ranks have, before MPI is initialised or after it is finalised:
/// under mpirun it starts MPI for it, so that no rank ends before rank 0 has spoken.
void print_once(const std::string& out, const std::string& err);

/// Runs `work(rank, ranks)` between MPI_Init and MPI_Finalize. The text of `usage`, `failure` and taquin's own errors
/// that all ranks have is printed on rank 0 and decides the exit status; any other exception ends the whole job.
int in_session(const std::function<int(int rank, int ranks)>& work);

/// The message of the lowest rank that has one, on every rank; nothing when none has. Collective.
std::optional<std::string> any_failure(const std::optional<std::string>& mine, MPI_Comm comm);

}  // namespace taquin::harness
