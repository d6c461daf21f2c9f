// The library's own view of a layout, beyond its public functions.
#pragma once

#include <memory>
#include <span>

#include "base/fingerprint.hpp"
#include "layouts/axis.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// The coordinates of a rank that is in no grid.
inline constexpr int outside_grid = -1;

struct layout_arguments;

struct layout_access {
  /// Collective, as the constructors for users.
  static layout_redistribution make(const layout_arguments& x, const layout_options& o) { return {x, o}; }
  static std::unique_ptr<layout_mover> mover_in_one_array(const layout_arguments& x, const layout_options& o);
  /// Dimension `k` of those from the slowest in memory to the fastest.
  static int axis(const layout& l, std::size_t k) noexcept;
  /// Where the rank is in the grid; the first coordinate is outside_grid where it is not.
  static void coordinates(const layout& l, int rank, std::span<int> to) noexcept;
  /// Those of a position in the grid.
  static void coordinates_at(const layout& l, count_t position, std::span<int> to) noexcept;
  /// The contribution of a coordinate of dimension `d` to the position in the grid, and the rank at a position.
  static std::size_t grid_stride(const layout& l, std::size_t d) noexcept;
  static int rank_at(const layout& l, std::size_t position) noexcept;
  static storage_order grid_order(const layout& l) noexcept { return l.grid_; }
  /// The ranks of the grid's positions; empty: position k is rank k.
  static std::span<const int> ranks(const layout& l) noexcept { return l.ranks_; }
  /// The elements of the local array along a dimension, for a process that owns `owned` there.
  static count_t allocated(const layout& l, std::size_t axis, count_t owned) noexcept;
  static count_t before(const layout& l, std::size_t axis) noexcept;
  /// Everything that must be the same on all ranks.
  static void add_to(fingerprint& all, const layout& l) noexcept;
  /// Bytes that a copy has outside itself.
  static std::size_t bytes(const layout& l) noexcept;
  /// The error in this rank's leading dimensions, or in the size of its array; empty: none.
  static std::string invalid_storage(const layout& l, int rank, count_t element_bytes);
};

}  // namespace taquin::detail
