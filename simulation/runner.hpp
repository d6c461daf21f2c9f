// Runs the schedules of all ranks inside one process, without MPI: for tests at any number of ranks, and to prove a
// schedule free of deadlock and of races between a round's copies and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// One rank of a simulated run: its schedule and its two user buffers. Elements have their `size` data bytes first and
/// then, up to `extent`, a gap.
struct simulated_rank {
  const schedule* plan = nullptr;
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
  int node = -1;  ///< ranks of the same number share place::shared; −1: a node of its own
};

/// How messages behave. A correct schedule gives the same result with both.
enum class delivery : std::uint8_t {
  eager,      ///< a send is complete immediately and its data are those of the moment of posting; copies come first
  rendezvous  ///< a send completes with its receive and its data are read then; copies come last
};

/// An incorrect schedule: a deadlock, a message longer or shorter than its receive, or one that is never received.
class simulated_error : public std::logic_error {
  using std::logic_error::logic_error;
};

/// The length of a simulated run.
struct simulated_result {
  std::size_t rounds = 0;  ///< of the rank with the most
  std::size_t steps = 0;   ///< longest chain of messages of which each had to wait for the one before
};

/// `to` = `from` ⊗ `to`, for `count` elements: the operator of copies that combine.
using combiner = std::function<void(const std::byte* from, std::byte* to, count_t count)>;

/// Is called twice for every message: with message `index` of rank `rank`, a send or a receive, and its data.
using watcher = std::function<void(int rank, std::uint32_t index, std::span<const std::byte> data)>;

/// Runs all ranks to their end. Throws simulated_error.
simulated_result run_simulated(std::span<const simulated_rank> ranks, delivery how, const combiner& op = {},
                               const watcher& deadline = {});

}  // namespace taquin::detail
