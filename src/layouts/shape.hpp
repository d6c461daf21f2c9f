// A move between two layouts, prepared: the axes of the problem, the places of ranks in the grids, and the places of
// elements in a rank's arrays.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "layouts/chunk_walk.hpp"
#include "layouts/copy_chunk.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// The strides of a rank's array, by the problem's axes.
struct local_side {
  local_side(std::size_t axes, std::pmr::memory_resource* memory) : strides(axes, 0, memory) {}
  static constexpr std::size_t bytes(std::size_t axes) noexcept { return axes * sizeof(count_t); }
  /// Of an array that begins at `data`, which may be null where the rank holds nothing.
  [[nodiscard]] local_array at(std::byte* data) const noexcept {
    return {data != nullptr ? data + first : nullptr, strides};
  }
  std::pmr::vector<count_t> strides;  ///< bytes
  count_t first = 0;                  ///< bytes before the element that the rank owns first
};

/// For valid layouts and options, which stay where they are.
class layout_shape {
 public:
  layout_shape(const layout& from, const layout& to, const layout_options& o, std::pmr::memory_resource* memory);
  layout_shape(const layout_shape&) = delete;
  layout_shape& operator=(const layout_shape&) = delete;
  /// Bytes that it takes from its memory.
  static constexpr std::size_t bytes(std::size_t axes) noexcept {
    return axes * (sizeof(moved_axis) + 2 * sizeof(int));
  }

  /// Where a rank is in the source's grid; the first coordinate is outside_grid where it is not.
  void sender(int rank, std::span<int> to) const;
  /// The same for the target's, in the order of the problem's axes.
  void receiver(int rank, std::span<int> to) const;
  /// Fills in the array of `rank` with elements of so many bytes.
  void set_from(local_side& s, int rank, count_t size) const;
  void set_to(local_side& s, int rank, count_t size) const;

  layout_problem problem{};

 private:
  // The dimension of the target that a dimension of the source becomes.
  [[nodiscard]] std::size_t there(std::size_t d) const {
    return options_.axes.empty() ? d : static_cast<std::size_t>(options_.axes[d]);
  }
  template <class Axis>
  static void set(local_side& s, const layout& l, int rank, count_t size, Axis axis);

  const layout& from_;
  const layout& to_;
  const layout_options& options_;
  std::pmr::vector<moved_axis> axes_;
  std::pmr::vector<int> order_;
  std::pmr::vector<int> backwards_;  // of a dimension of the target, the axis
};

}  // namespace taquin::detail
