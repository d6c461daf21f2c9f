// The time of a redistribution under a machine model, from a run of all ranks in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "redistribute/footprint.hpp"
#include "redistribute/machine.hpp"
#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// The map of all ranks: the destination of each block, −1 where there is none.
struct whole_map {
  struct of_rank {
    std::vector<int> ranks;
    std::vector<int> indices;
  };
  std::vector<of_rank> of;
  count_t block_bytes = 0;
};

/// The problem of a map, of an algorithm; the load of an average rank, with these buffers.
redistribution_problem problem_of(const redistribution_algorithm& a, const whole_map& all) noexcept;
redistribution_load load_of(const whole_map& all, const buffer_choice& buffers);

/// The actions of all ranks as schedules: in each of its rounds a rank copies, and then sends what it can without
/// waiting.
struct simulated_moves {
  std::vector<schedule> schedules;
  std::uint64_t messages = 0;  ///< most of any rank, control messages included
  count_t bytes_copied = 0;    ///< most of any rank

  [[nodiscard]] seconds time(const machine_model& m, std::span<const int> node_of = {}) const;
};

/// Runs `a` on the map, with the buffers that fit into `memory`; by messages, not by reading the memory of other ranks.
/// Null if none fit.
std::optional<simulated_moves> simulate_redistribution(const redistribution_algorithm& a, const whole_map& all,
                                                       std::size_t memory = unlimited);

}  // namespace taquin::detail
