// A redistribution of all ranks in one process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/memory_budget.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/problems.hpp"
#include "redistribute/pushed.hpp"
#include "simulation/network.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

struct simulated_rank {
  memory_budget budget;
  std::vector<std::uint64_t> data;
  std::optional<store> units;
  std::optional<block_map> map;
  std::optional<targets> known;  // where the machine is given it
  bool pushed = false;
  machine m;
  std::pmr::memory_resource* memory = &budget;  // of its task
};

// The readers of blocks: none, all of all, or ranks of nodes of three of each other.
enum class readers : std::uint8_t { nobody, all, of_nodes };

// The phase before the algorithm: none; ranks exchange their targets, as the library does; or blocks are pushed, and if
// that fails ranks exchange their targets.
enum class beginning : std::uint8_t { at_once, learning, pushing };

// Of each three ranks, those that are left alone at the end included.
inline level nodes_of_three(std::size_t ranks) {
  std::vector<int> node(ranks);
  for (std::size_t r = 0; r < ranks; ++r) node[r] = static_cast<int>(r / 3);
  return level::of("node", node);
}

/// Made, and not run yet.
struct simulated_redistribution {
  /// `chunk`: 0 for as many blocks in a message as usual.
  simulated_redistribution(const redistribution_algorithm& a, const test::block_problem& all, unsigned seed, slot chunk,
                           double progress, const redistribution_algorithm& successor, readers who,
                           beginning begins = beginning::at_once)
      : network(seed), nodes(nodes_of_three(all.size())), ranks(all.size()) {
    const auto p = all.size();
    std::size_t least = 0;
    for (const auto& m : all)
      if (m.blocks > 0)
        least = least == 0 ? static_cast<std::size_t>(m.blocks) : std::min(least, static_cast<std::size_t>(m.blocks));
    sizes = redistribution_sizes(sizeof(std::uint64_t), least);
    if (chunk > 0) {
      sizes.chunk = chunk;
      sizes.scattered = std::min(sizes.scattered, chunk);
      sizes.read = chunk;  // small blocks that are read go by buffers here, which they never do over MPI
    }
    for (std::size_t r = 0; r < p; ++r) {
      simulated_rank& s = ranks[r];
      const auto own = static_cast<slot>(all[r].blocks);
      for (slot k = 0; k < own; ++k) s.data.push_back(test::identity(static_cast<int>(r), static_cast<int>(k)));
      s.units.emplace(s.data.data(), own, 1, element::bytes(sizeof(std::uint64_t)), sizes.staging_slots(), &s.budget);
      s.map.emplace(*s.units, &s.budget);
      for (slot k = 0; k < own; ++k)
        if (all[r].ranks[k] >= 0) s.map->set(k, {all[r].ranks[k], static_cast<slot>(all[r].indices[k])});
      simulated_port& port = network.add(*s.units, redistribution_limits(sizes, static_cast<int>(p)));
      if (who == readers::all) port.let_read(rank_group::all());
      if (who == readers::of_nodes) port.let_read(rank_group::of(nodes, static_cast<int>(r)));
      if (begins != beginning::at_once) s.known.emplace(&s.budget);
      blocks.push_back(all[r].blocks);
      s.m = {.memory = &s.budget,
             .rank = static_cast<int>(r),
             .ranks = static_cast<int>(p),
             .map = &*s.map,
             .net = &port,
             .sizes = sizes,
             .least_progress = progress,
             .successor = successor.name,
             .known = begins == beginning::at_once ? nullptr : &*s.known};
    }
    const bool pushes = begins == beginning::pushing && pushed_blocks::suit(blocks, sizes);
    for (simulated_rank& s : ranks)
      tasks.push_back(begins == beginning::at_once ? redistribute_blocks(s.m, a)
                                                   : learn_and_redistribute(s, a, blocks, pushes));
  }

  simulated_network network;
  level nodes;
  std::vector<simulated_rank> ranks;
  std::vector<task> tasks;
  buffer_sizes sizes;
  std::vector<count_t> blocks;  // of each rank

 private:
  static task learn_and_redistribute(simulated_rank& s, const redistribution_algorithm& a,
                                     std::span<const count_t> blocks, bool pushes) {
    if (pushes) co_await pushed_blocks::run(s.m, *s.known, blocks, true, s.pushed);
    if (s.pushed) co_return;
    co_await learn_sources(s.m, *s.known);
    co_await redistribute_blocks(s.m, a);
  }
};

}  // namespace taquin::detail
