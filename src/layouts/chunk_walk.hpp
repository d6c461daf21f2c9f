// The chunks that one rank sends to another. A chunk is a product of runs: for each dimension a few consecutive runs of
// those that sender and receiver have in common. Both ranks go through the same chunks without communication.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "layouts/axis.hpp"

namespace taquin::detail {

/// The elements that move between two layouts, known to all ranks. Its owner's vectors and layouts stay in place.
struct layout_problem {
  std::span<const moved_axis> axes;  ///< in the source's dimensions
  std::span<const int> order;        ///< of the axes in the source's memory, from the slowest to the fastest
  int fastest_there;                 ///< the axis that changes fastest in the target's memory
};

class chunk_walk {
 public:
  /// Chunks of at most `elements` elements and `runs` runs in each dimension.
  chunk_walk(const layout_problem& problem, count_t elements, std::size_t runs, std::pmr::memory_resource* memory);
  chunk_walk(const chunk_walk&) = delete;
  chunk_walk& operator=(const chunk_walk&) = delete;

  /// Bytes that the constructor takes from its memory.
  static std::size_t bytes(std::size_t axes, std::size_t runs) noexcept {
    return axes * (runs * sizeof(axis_run) + sizeof(axis_chunk));
  }

  /// Goes to the first chunk from the process at `sender` in the source's grid to the one at `receiver`, whose
  /// coordinates are in the order of the axes. False where they have nothing in common.
  bool begin(std::span<const int> sender, std::span<const int> receiver);
  /// Goes to the next chunk; false at the end.
  bool next();
  /// Of the chunk.
  [[nodiscard]] count_t elements() const noexcept;

  /// One dimension of the chunk.
  struct axis_chunk {
    axis_walk walk;  ///< behind the chunk's runs
    int sender = 0;  ///< coordinates
    int receiver = 0;
    std::size_t runs = 0;
    count_t length = 0;   ///< elements of all runs
    count_t most = 0;     ///< elements that a chunk has along this dimension
    bool single = false;  ///< all runs fit one chunk
  };
  [[nodiscard]] const axis_chunk& axis(std::size_t d) const noexcept { return axes_[d]; }
  [[nodiscard]] std::span<const axis_run> runs(std::size_t d) const noexcept {
    return std::span(runs_).subspan(d * most_runs_, axes_[d].runs);
  }
  [[nodiscard]] const layout_problem& problem() const noexcept { return problem_; }

 private:
  bool restart(std::size_t d);
  bool fill(std::size_t d, count_t most);
  bool first(std::size_t d, count_t most);

  const layout_problem& problem_;
  count_t most_elements_;
  std::size_t most_runs_;
  std::pmr::vector<axis_run> runs_;
  std::pmr::vector<axis_chunk> axes_;
};

}  // namespace taquin::detail
