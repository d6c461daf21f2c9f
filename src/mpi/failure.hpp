// Ranks that have failed, in MPI libraries that go on without them (User-Level Failure Mitigation). These functions are
// looked for when the program runs: taquin builds and runs with libraries that do not have them.
#pragma once

#include <mpi.h>

#include <exception>
#include <string_view>
#include <vector>

#include "mpi/whereabouts.hpp"

namespace taquin::mpi {

/// True where the MPI library reports failures instead of ending the job: waits must then look for them.
bool survives_failures() noexcept;
/// A class of errors that says so.
bool is_failure(int mpi_class) noexcept;

/// The MPI library was told that nobody goes on with it.
bool is_revoked(MPI_Comm comm) noexcept;

/// `r` counts the calls on `user`, until forget_user().
void know_user(const call_record& r, MPI_Comm user);
void forget_user(const call_record& r) noexcept;

/// Throws peer_failed where a rank of the record's communicator has failed, or the communicator was revoked. Asks the
/// MPI library every few milliseconds only, unless `now`.
void look_for_failures(const call_record& r, bool now = false);
/// Throws peer_failed for these ranks, or, where they are not known, for a communicator that is revoked.
[[noreturn]] void refuse_failed(const std::vector<int>& ranks, const call_record* r);
/// The same for an error code of the MPI library in a call on this thread's communicator.
[[noreturn]] void refuse_failure(int code);
/// The same for a rank of this thread's communicator where `error`, of a copy from or to its memory, says that its
/// process is not there. Does nothing where the MPI library ends the job.
void refuse_if_gone(int error, int rank);
/// Throws what a rank that left has told, if that was a failure.
void refuse_if_failed(std::string_view why, const call_record& r);

/// `why` takes this rank out of a call: if it is a failure, taquin's own communicator `own` is revoked.
void revoke_after(const std::exception& why, MPI_Comm own) noexcept;

}  // namespace taquin::mpi
