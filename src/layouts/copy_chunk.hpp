// Copies of one chunk inside a rank: from its array into a message, out of a message into its array, or from one array
// to the other.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "layouts/chunk_walk.hpp"

namespace taquin::detail {

/// A local array: bytes from one index to the next along each axis of the problem.
struct local_array {
  std::byte* first = nullptr;  ///< the element whose local indices are all 0
  std::span<const count_t> strides{};
};

/// One axis of a copy.
struct copied_axis {
  const axis_run* runs;
  std::size_t count;
  count_t from_stride;  ///< bytes
  count_t to_stride;    ///< bytes
  count_t length;       ///< elements of all runs
};

/// Copies chunks of elements of one size. Source and target do not overlap.
class chunk_copier {
 public:
  chunk_copier(std::size_t axes, std::size_t element, std::pmr::memory_resource* memory)
      : element_(element), axes_(axes, copied_axis{}, memory) {}
  static std::size_t bytes(std::size_t axes) noexcept { return axes * sizeof(copied_axis); }

  /// The chunk's elements, in the order of the source's memory, to `message`.
  void pack(const chunk_walk& chunk, const local_array& from, std::byte* message);
  void unpack(const chunk_walk& chunk, const std::byte* message, const local_array& to);
  /// From array to array.
  void copy(const chunk_walk& chunk, const local_array& from, const local_array& to);

 private:
  template <class Stride>
  void set_axes(const chunk_walk& chunk, Stride strides);

  std::size_t element_;
  std::pmr::vector<copied_axis> axes_;
};

}  // namespace taquin::detail
