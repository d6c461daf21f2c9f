// Copies of one chunk inside a rank: from its array into a message, out of a message into its array, or from one array
// to the other.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Which elements of a matrix are written: all; or those of row i and column j with i − j ≤ shift (upper), or ≥ shift
/// (lower).
struct written_part {
  enum class kind : std::uint8_t { all, upper, lower };
  kind part = kind::all;
  count_t shift = 0;
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
  chunk_copier(std::size_t axes, std::size_t element, std::pmr::memory_resource* memory, written_part part = {})
      : element_(element), part_(part), axes_(axes, copied_axis{}, memory) {}
  static std::size_t bytes(std::size_t axes) noexcept { return axes * sizeof(copied_axis); }

  /// The chunk's elements, in the order of the source's memory, to `message`.
  void pack(const chunk_walk& chunk, const local_array& from, std::byte* message);
  void unpack(const chunk_walk& chunk, const std::byte* message, const local_array& to);
  /// From array to array.
  void copy(const chunk_walk& chunk, const local_array& from, const local_array& to);

 private:
  // Only what the part has.
  template <auto From, auto To>
  void write_part(const chunk_walk& chunk, const std::byte* from, std::span<const count_t> from_strides, std::byte* to,
                  std::span<const count_t> to_strides) const;
  template <class Stride>
  void set_axes(const chunk_walk& chunk, Stride strides);

  std::size_t element_;
  written_part part_;
  std::pmr::vector<copied_axis> axes_;
};

}  // namespace taquin::detail
