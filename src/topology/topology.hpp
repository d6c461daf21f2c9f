// Which ranks of a communicator share nodes, and inside them packages and caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/sizes.hpp"

namespace taquin::detail {

/// The most levels inside nodes: packages and caches, or those that are given.
constexpr std::size_t most_levels_inside = 2;

/// One of them: the most groups that any group of the level outside has, the ranks of the largest and the smallest.
struct level_shape {
  int groups = 1;
  int largest = 1;
  int smallest = 1;
};

/// One partition of the ranks. Groups are numbered in the order of their lowest rank.
struct level {
  std::string_view name;   ///< "node", "package", "l3"
  std::vector<int> group;  ///< of each rank
  std::vector<int> index;  ///< of each rank, among its group's members in rank order
  std::vector<int> ranks;  ///< all ranks, ordered by group and then by rank
  std::vector<int> first;  ///< group g's members are ranks[first[g]] … ranks[first[g + 1] − 1]

  /// From a number per rank that is the same within a group and differs between groups.
  static level of(std::string_view name, std::span<const int> colours);

  [[nodiscard]] int groups() const noexcept { return static_cast<int>(first.size()) - 1; }
  [[nodiscard]] int size(int g) const noexcept { return first[at(g) + 1] - first[at(g)]; }
  [[nodiscard]] int member(int g, int i) const noexcept { return ranks[at(first[at(g)] + i)]; }
  [[nodiscard]] std::span<const int> members(int g) const noexcept {
    return std::span(ranks).subspan(at(first[at(g)]), at(size(g)));
  }
  [[nodiscard]] int largest() const noexcept;
  [[nodiscard]] int smallest() const noexcept;
  /// The largest group besides the largest; 0: there is none.
  [[nodiscard]] int second_largest() const noexcept;
  /// Steps in which hierarchical_factor exchanges all messages between groups with one port each:
  /// n(p − n) + n₂·o, for p ranks and the sizes n and n₂ of the largest group and the largest other one; o of the local
  /// indices below n are those that an odd number of groups, at least 3, have. docs/internals/node-aware-algorithms.md
  /// proves it.
  [[nodiscard]] std::int64_t factor_steps() const noexcept;
  bool operator==(const level&) const = default;

 private:
  static constexpr std::size_t at(int i) noexcept { return as_size(i); }
};

/// Some ranks of a communicator: all, none, or one group of a level, which must outlive this.
class rank_group {
 public:
  static constexpr rank_group all() noexcept { return {nullptr, 0}; }
  static constexpr rank_group none() noexcept { return {nullptr, -1}; }
  /// Those in the rank's group.
  static rank_group of(const level& l, int rank) noexcept { return {&l, l.group[as_size(rank)]}; }

  [[nodiscard]] bool has(int rank) const noexcept { return index(rank) >= 0; }
  /// The rank's number among them; −1: it is none of them.
  [[nodiscard]] int index(int rank) const noexcept {
    if (level_ == nullptr) return group_ < 0 ? -1 : rank;
    const auto r = as_size(rank);
    return level_->group[r] == group_ ? level_->index[r] : -1;
  }
  /// The rank that has a number among them.
  [[nodiscard]] int member(int index) const noexcept {
    return level_ == nullptr ? index : level_->member(group_, index);
  }

 private:
  constexpr rank_group(const level* l, int group) noexcept : level_(l), group_(group) {}

  const level* level_;  // null: all ranks, or none where the group is −1
  int group_;
};

/// The levels from the outermost inwards; each refines the one before, the first holds the nodes.
struct topology {
  std::vector<level> levels;

  /// Nodes of the given sizes, filled in rank order; sizes must be positive and add up to the ranks.
  static topology of_sizes(std::span<const int> sizes);
  /// Every rank alone on its node.
  static topology of_single_ranks(int ranks);

  [[nodiscard]] const level& nodes() const noexcept { return levels.front(); }
  /// The most groups of level l > 0 that any group of the level outside has.
  [[nodiscard]] int most_groups(std::size_t l) const;
  /// The inside of a node: its ranks in order, with the levels that follow the first; none if there are no more.
  [[nodiscard]] topology inside(int node) const;
  /// Adds a level; colours are compared within the groups of the last level only. A level that splits nothing is left
  /// out.
  void refine(std::string_view name, std::span<const int> colours);
  bool operator==(const topology&) const = default;
};

}  // namespace taquin::detail
