// Ranks that have failed, in MPI libraries that survive them (User-Level Failure Mitigation). These functions are
// looked up at run time: taquin builds and runs with libraries that do not have them.
#pragma once

#include <mpi.h>

#include <exception>
#include <string_view>
#include <vector>

#include "mpi/progress_record.hpp"

namespace taquin::mpi {

/// True if the MPI library reports failures instead of ending the job: waits must then poll for them.
bool survives_failures() noexcept;
/// An error class that means a failed process.
bool is_failure(int mpi_class) noexcept;

/// The MPI library was notified: no rank continues with the communicator.
bool is_revoked(MPI_Comm comm) noexcept;

/// `r` counts the calls on `user`, until forget_user().
void know_user(const call_record& r, MPI_Comm user);
void forget_user(const call_record& r) noexcept;

/// Throws peer_failed if a rank of the record's communicator has failed, or the communicator was revoked. Calls the MPI
/// library every few milliseconds only, unless `now`.
void check_for_failures(const call_record& r, bool now = false);
/// Throws peer_failed for these ranks, or, if they are not known, for a revoked communicator.
[[noreturn]] void refuse_failed(const std::vector<int>& ranks, const call_record* r);
/// The same for an error code of the MPI library in a call on this thread's communicator.
[[noreturn]] void refuse_failure(int code);
/// The same for a rank of this thread's communicator if `error`, of a copy from or to its memory, means that its
/// process does not exist. Does nothing where the MPI library ends the job.
void refuse_if_gone(int error, int rank);
/// Throws the error that an aborting rank has published, if that was a failure.
void refuse_if_failed(std::string_view why, const call_record& r);

/// `why` makes this rank abort a call: if it is a failure, taquin's private communicator `own` is revoked.
void revoke_after(const std::exception& why, MPI_Comm own) noexcept;

}  // namespace taquin::mpi
