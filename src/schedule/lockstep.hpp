// Runs the schedules of all ranks inside one process, without MPI: for tests at any number of ranks, and to prove a
// schedule free of deadlock and of races between a round's copies and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One rank of a lockstep run: its schedule and its two user buffers. Elements have their `size` data bytes first and
/// then, up to `extent`, a hole.
struct lockstep_rank {
  const schedule* plan = nullptr;
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
};

/// How messages behave. A right schedule gives the same result with both.
enum class delivery : std::uint8_t {
  eager,      ///< a send is complete at once and its data are those of the moment of posting; copies come first
  rendezvous  ///< a send completes with its receive and its data are read then; copies come last
};

/// A schedule that is wrong: a deadlock, a message longer or shorter than its receive, or one that nobody receives.
class lockstep_error : public std::logic_error {
  using std::logic_error::logic_error;
};

/// Runs all ranks to their end. Throws lockstep_error. Returns the number of rounds of the rank with the most.
std::size_t run_lockstep(std::span<const lockstep_rank> ranks, delivery how);

}  // namespace taquin::detail
