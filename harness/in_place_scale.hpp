// The cost of an in-place exchange for a rank, counted in simulation for any number of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "base/sizes.hpp"
#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::detail {

/// Of one rank.
struct scale_cost {
  std::uint64_t rounds = 0;    ///< the most
  std::uint64_t messages = 0;  ///< sent, requests included; the mean
  std::uint64_t copied = 0;    ///< bytes; the mean
  std::size_t memory = 0;      ///< bytes of the state machine; the most
};

/// Every rank sends irregular blocks to `peers` ranks, `bytes` in all, and receives as many.
inline in_place_problem scale_problem(int ranks, int peers, count_t bytes, unsigned seed) {
  const auto n = as_size(ranks);
  std::mt19937 random(seed);
  std::vector<std::size_t> distances(n);
  std::iota(distances.begin(), distances.end(), 0U);
  std::ranges::shuffle(distances, random);
  std::vector<std::vector<count_t>> counts(n, std::vector<count_t>(n));
  const count_t mean = bytes / peers;
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t k = 0; k < as_size(peers); ++k)
      counts[from][(from + distances[k]) % n] = 1 + static_cast<count_t>(random() % static_cast<unsigned>(2 * mean));
  return make_problem(std::move(counts), {true, 0, 0}, seed);
}

enum class scale_algorithm : std::uint8_t { requests, phases_dense, phases_sparse };

/// With 1% of the data as auxiliary memory.
inline scale_cost cost_at_scale(scale_algorithm algorithm, int ranks, int peers, count_t bytes) {
  const auto problem = scale_problem(ranks, peers, bytes, 1);
  const count_t aux = bytes / 100;
  scale_cost cost;
  const auto take = [&](const std::vector<in_place_counts>& all) {
    for (const auto& c : all) {
      cost.rounds = std::max(cost.rounds, c.rounds);
      cost.messages += c.messages;
      cost.copied += c.units_copied;
    }
    cost.messages /= all.size();
    cost.copied /= all.size();
  };
  const auto ranks_with = [&](const auto& limits, auto all) {
    using rank_type = typename decltype(all)::value_type;
    for (std::size_t r = 0; r < as_size(ranks); ++r) {
      all.push_back({problem.out[r], problem.in[r], nullptr, limits});
      cost.memory =
          std::max(cost.memory, rank_type::machine::bytes(limits, problem.out[r].size(), problem.in[r].size()));
    }
    return all;
  };
  if (algorithm == scale_algorithm::requests) {
    in_place_limits l{.runs = 4, .per_peer = 2, .requests = 16, .sends = 16, .staged = 64};
    l.set_aux(aux, as_size(aux), 1, peers, bytes);
    take(run_in_place(ranks_with(l, std::vector<in_place_rank>{}), element::bytes(1), simulated_order::rounds));
  } else {
    const phase_limits l{.aux = aux, .parts = std::max(peers / 16, 1), .most = INT32_MAX};
    take(run_phases(ranks_with(l, std::vector<phase_rank>{}), element::bytes(1),
                    algorithm == scale_algorithm::phases_dense ? phase_requests::dense : phase_requests::sparse,
                    simulated_order::rounds));
  }
  return cost;
}

}  // namespace taquin::detail
