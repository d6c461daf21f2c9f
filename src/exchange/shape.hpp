// The properties of an exchange that are the same on all ranks after the agreement; and one rank's own part.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "exchange/properties.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// The same on every rank. Algorithms decide from this alone whether they serve and how much memory they need.
struct shape {
  int ranks = 1;
  exchange::form kind = exchange::form::alltoall;
  /// An intercommunicator.
  bool inter = false;
  /// One buffer for both sides.
  bool in_place = false;
  /// In place: the two blocks of a pair coincide.
  bool symmetric = true;
  /// All ranks are on one node and can share memory.
  bool shared = false;
  /// They can read each other's memory.
  bool single_copies = false;
  /// Some rank's type is not contiguous.
  bool gaps = false;
  /// All blocks of all ranks have the same number of bytes.
  bool uniform = true;
  /// Some rank's counts or displacements do not fit the MPI library's ints.
  bool large = false;
  /// In place: the most blocks with data that any rank sends, or receives.
  int max_peers = 0;
  /// In place: one type, of the same size on all ranks, laid out in a regular way; then the data bytes of its element,
  /// and the most bytes that an element spans on any rank, 0 if it has gaps on none.
  bool one_unit = false;
  std::uint64_t unit_size = 0;
  std::uint64_t unit_span = 0;
  /// The largest and the smallest block that any rank sends.
  std::uint64_t max_block_bytes = 0;
  std::uint64_t min_block_bytes = 0;
  /// The most that any rank sends and receives, to and from itself included.
  std::uint64_t max_rank_bytes = 0;
  std::uint64_t max_received_bytes = 0;
  /// Nodes of the communicator, 0 if the algorithm does not use them; ranks on the largest and the smallest.
  int nodes = 0;
  int largest_node = 1;
  int smallest_node = 1;
  /// Ranks on the largest of the other nodes; 0: there is none.
  int second_node = 0;
  /// Of hierarchical_factor with one port for each node.
  std::int64_t factor_steps = 0;
  /// The ranks of each node can share memory, as far as is known.
  bool nodes_share = true;
  /// The levels inside nodes, from the outermost inwards.
  int levels_inside = 0;
  std::array<level_shape, most_levels_inside> inside{};
  /// The longest block that a step between nodes carries, if it has carried all short blocks of this call on all ranks;
  /// otherwise 0.
  std::size_t piggybacked_block = 0;
  /// The memory limit of an algorithm on any rank.
  std::size_t memory_limit = unlimited;

  /// A step among nodes carries all blocks.
  [[nodiscard]] bool carries_all() const noexcept {
    return piggybacked_block > 0 && max_block_bytes <= piggybacked_block;
  }
  /// It carries all, or, if blocks are much shorter on average and have separate buffers, the short ones; the others
  /// follow directly.
  [[nodiscard]] bool carries() const noexcept {
    const std::uint64_t average = std::max(max_rank_bytes, max_received_bytes) / static_cast<std::uint64_t>(ranks);
    return carries_all() || (piggybacked_block > 0 && !in_place && average <= piggybacked_block / short_on_average);
  }
  static constexpr std::uint64_t short_on_average = 4;  // of the longest block that is carried
};

/// Sets the figures that ranks have agreed on; `uniform` besides. A fact that a shape does not have is left out.
template <std::same_as<shape> Shape>
void describe(const rank_properties& all, Shape& s) {
#define TAQUIN_PROPERTY(NAME, COMBINE) \
  if constexpr (requires { s.NAME; }) s.NAME = static_cast<decltype(s.NAME)>(all.NAME);
#define TAQUIN_FLAG(NAME, COMBINE) \
  if constexpr (requires { s.NAME; }) s.NAME = all.NAME;
#include "exchange/properties.def"
  s.one_unit = s.unit_size > 0;
}

/// The part of a shape that describes the levels; empty without levels.
inline void describe(const topology& t, shape& s) {
  s.nodes = t.levels.empty() ? 0 : t.nodes().groups();
  s.largest_node = t.levels.empty() ? 1 : t.nodes().largest();
  s.smallest_node = t.levels.empty() ? 1 : t.nodes().smallest();
  s.second_node = t.levels.empty() ? 0 : t.nodes().second_largest();
  s.factor_steps = t.levels.empty() ? 0 : t.nodes().factor_steps();
  s.levels_inside = std::max(static_cast<int>(t.levels.size()) - 1, 0);
  for (std::size_t l = 1; l < t.levels.size(); ++l)
    s.inside.at(l - 1) = {t.most_groups(l), t.levels[l].largest(), t.levels[l].smallest()};
}

/// One rank's part of an exchange, without any MPI object but type handles: schedules are built from this, also where
/// no MPI runs.
struct local_exchange {
  int rank = 0;
  int ranks = 1;
  bool in_place = false;
  blocks send{};
  blocks recv{};
  const topology* nodes = nullptr;  ///< for algorithms that use them; null: every rank is a node of its own
};

}  // namespace taquin::detail
