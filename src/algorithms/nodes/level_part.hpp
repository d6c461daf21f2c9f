// One rank's part of an exchange that goes level by level: inside its group, then between groups.
//
// A column c is the ranks of local index c in all groups. In a group of n ranks the one of local index c mod n serves
// column c. Inside the group each rank sends its blocks for column c to the rank that serves it; between groups the
// ranks that serve column c exchange the collected blocks, which brings each to its destination.
#pragma once

#include <cstddef>
#include <span>

#include "base/sizes.hpp"
#include "node/level_comms.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

class level_part {
 public:
  level_part(const level& groups, int rank) noexcept
      : groups_(groups),
        group_(groups.group[as_size(rank)]),
        me_(groups.index[as_size(rank)]),
        size_(groups.size(group_)),
        columns_(groups.largest()) {}

  [[nodiscard]] int me() const noexcept { return me_; }      ///< local index
  [[nodiscard]] int size() const noexcept { return size_; }  ///< ranks of the group
  [[nodiscard]] int groups() const noexcept { return groups_.groups(); }
  [[nodiscard]] std::span<const int> members(int group) const noexcept { return groups_.members(group); }

  /// Calls f(rank) with each rank that local rank i of this group serves, in the order in which blocks for them travel:
  /// by columns, then by groups.
  template <class F>
  void for_each_served(int i, F f) const {
    for_each_column(i, size_, columns_, [&](int c) {
      for (int g = 0; g < groups_.groups(); ++g)
        if (c < groups_.size(g)) f(groups_.member(g, c));
    });
  }
  /// Of those that this rank serves, calls f(group) with each in its k-th column.
  template <class F>
  void for_each_in_column(int k, F f) const {
    for (int g = 0; g < groups_.groups(); ++g)
      if (me_ + k * size_ < groups_.size(g)) f(g);
  }

  /// How many columns a group's rank is in, at most.
  static constexpr int columns_of(int size, int columns) noexcept { return (columns + size - 1) / size; }

 private:
  const level& groups_;
  int group_;
  int me_;
  int size_;
  int columns_;
};

}  // namespace taquin::detail
