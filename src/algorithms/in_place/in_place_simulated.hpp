// Runs the in-place algorithms of all ranks inside one process, without MPI: for tests, and to count what an exchange
// costs with any number of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/in_place/in_place_machine.hpp"
#include "algorithms/in_place/in_place_phases_machine.hpp"
#include "algorithms/in_place/problem.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// One rank of a lockstep run of in_place. Units have their `size` data bytes first and then, up to `extent`, a hole.
struct in_place_rank {
  std::span<const peer_block> out;  ///< in order of peer
  std::span<const peer_block> in;   ///< in order of location
  std::byte* buffer = nullptr;      ///< null: only counts
  in_place_limits limits;
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  ///< of its state machine
};

/// One rank of a lockstep run of in_place_phases.
struct phase_rank {
  std::span<const peer_block> out;  ///< in order of peer
  std::span<const peer_block> in;   ///< in order of location
  std::byte* buffer = nullptr;      ///< null: only counts
  phase_limits limits;
  std::pmr::memory_resource* memory = std::pmr::new_delete_resource();  ///< of its state machine
};

/// Who sends requests to whom in each phase of in_place_phases.
enum class phase_requests : std::uint8_t {
  dense,  ///< every rank to every rank, until none has work left
  sparse  ///< each rank to those that still have data for it
};

/// What one rank did.
struct simulated_counts {
  std::uint64_t rounds = 0;    ///< steps in which all ranks take what has arrived and answer it
  std::uint64_t messages = 0;  ///< sent, requests included
  std::uint64_t units_sent = 0;
  std::uint64_t units_copied = 0;
};

/// How events are ordered.
enum class simulated_order : std::uint8_t {
  rounds,  ///< all ranks at a time: the order that counts rounds
  random   ///< one event at a time, from `seed`; sends complete before or after their data have arrived
};

/// Data that changed their place in a run: for pictures of it.
struct traced_move {
  enum class what : std::uint8_t { arrived, left, moved };
  what kind;
  std::uint64_t round = 0;
  int rank = 0;
  int peer = -1;    ///< arrived: who sent them
  location from{};  ///< left, moved
  location to{};    ///< arrived, moved
  count_t length = 0;
};

/// Sees every move of a run in its order.
using move_trace = std::function<void(const traced_move&)>;

/// Runs all ranks to their end. Throws lockstep_error where they cannot end. Returns what each rank did.
std::vector<simulated_counts> run_in_place(std::span<const in_place_rank> ranks, const element& unit,
                                           simulated_order order, std::uint64_t seed = 0, const move_trace& trace = {});
std::vector<simulated_counts> run_phases(std::span<const phase_rank> ranks, const element& unit, phase_requests how,
                                         simulated_order order, std::uint64_t seed = 0);

}  // namespace taquin::detail
