// Units as bytes: where they lie, how they travel, how they are copied.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/problem.hpp"
#include "exchange/shape.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// The user's buffer and the auxiliary memory as arrays of units. A unit is an element, or a byte where no rank's type
/// has holes.
class unit_space {
 public:
  unit_space(const exchange& x, const shape& s, std::byte* aux) noexcept;

  [[nodiscard]] std::byte* address(const location& l) const noexcept {
    return (l.aux ? aux_ : base_) + l.at * unit_.extent;
  }
  [[nodiscard]] const element& unit() const noexcept { return unit_; }
  /// Moves units inside the rank; the two runs may overlap.
  void move(const local_move& m) const;
  /// The most units that fit into `bytes` of auxiliary memory.
  static count_t fitting(const element& unit, std::size_t bytes) noexcept;
  /// Bytes that `n` units of auxiliary memory take.
  static std::size_t bytes(const element& unit, count_t n) noexcept {
    return static_cast<std::size_t>((n - 1) * unit.extent + unit.true_extent);
  }
  static element unit_of(const exchange& x, const shape& s) noexcept;

 private:
  element unit_;
  std::byte* base_;
  std::byte* aux_;
};

/// What an in-place algorithm may take. Without a limit of the caller's: 1% of the most that any rank sends or
/// receives, at least 64 KiB, and at least four times `least`, so that not all of it goes into bookkeeping.
std::size_t in_place_allowance(const shape& s, std::size_t limit, std::size_t least) noexcept;

/// The non-empty blocks of one side, in units and in order of peer.
std::pmr::vector<peer_block> collect(const blocks& side, int ranks, const element& unit,
                                     std::pmr::memory_resource* memory);
/// The same in order of location.
std::pmr::vector<peer_block> collect_by_location(const blocks& side, int ranks, const element& unit,
                                                 std::pmr::memory_resource* memory);
/// Units of all its blocks.
count_t total_units(const blocks& side, int ranks, const element& unit) noexcept;

}  // namespace taquin::detail
