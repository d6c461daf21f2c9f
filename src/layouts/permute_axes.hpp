// The axes of a rank's array in another order, in place.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>

#include "layouts/arguments.hpp"
#include "layouts/transpose.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A sequence of transpositions, at most one for each axis: from the axis that will change fastest on, each is moved
/// after those between it and its place.
class axis_permutation {
 public:
  /// Axis k of the result, from the slowest to the fastest, is axis order[k] of the present array. `most`: the extents
  /// of the largest array of any rank, in the present order; within `space` bytes if that is possible.
  axis_permutation(std::span<const int> order, std::span<const count_t> most, std::size_t element, std::size_t space);

  /// The scratch memory that run() takes, of arrays that are no larger.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// `extents`: of this rank's array. Local. A step gives its memory back before the next one.
  void run(std::byte* data, std::span<const count_t> extents, std::span<std::byte> scratch) const;

 private:
  struct step {
    std::size_t from = 0;  // the axis, among those of the step before
    std::size_t to = 0;    // its place
    bool large = false;    // elements
    transposition how{};
    std::size_t bytes = 0;  // of scratch memory
  };
  [[nodiscard]] std::span<const step> steps() const noexcept { return std::span(all_).first(count_); }

  std::array<step, most_dimensions> all_{};
  std::size_t count_ = 0;
  std::size_t element_;
};

}  // namespace taquin::detail
