// Blocking calls that follow calls in which no rank had data for another (base/idle_calls.hpp): the MPI library
// makes them, and ranks do not meet.
#pragma once

#include <cstddef>

#include "plan/plan_state.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Makes such a call for this rank of `ranks`. If the rank has no data now it waits for nobody. An error takes it out
/// of the call, because the others may have completed it.
void run_idle(const exchange& x, const options& o, int rank, int ranks);

/// The same on a communicator whose ranks agree by messages, where this call is one of those that need no agreement.
bool run_idle_by_messages(const exchange& x, const options& o);
/// After an agreement of theirs, for the communicator's call of this number. The same on all ranks.
void note_idle(const exchange& x, const options& o, mpi::communicator& comm, bool moves, std::uint64_t number);
/// What ranks must have alike in the next call beside their choices: its number, while calls are idle. Then some ranks
/// may be on the way of run_idle_by_messages.
std::uint64_t number_to_agree_on(const mpi::communicator& comm, std::uint64_t number) noexcept;

/// The statistics of a call that the MPI library has made.
void account_for_library(const exchange& known, int rank, int ranks, std::size_t peak, statistics& s);

}  // namespace taquin::detail
