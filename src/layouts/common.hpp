// The common parts of two layouts, dimension by dimension: the peers of a rank are the products of its peers along each
// axis. Time and memory grow with those, never with elements or with all ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "layouts/axis.hpp"
#include "layouts/shape.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {

/// A process along one axis of the other layout, and the indices that it shares with the process in question: at least
/// one.
struct common_part {
  int process;
  count_t indices;
};

/// The processes of the target that share indices with process `coordinate` of the source, in ascending order; with
/// `sends` false, those of the source with one of the target. May allocate.
std::vector<common_part> common_parts(const moved_axis& axis, int coordinate, bool sends);

/// The ranks that one rank sends to, or receives from, itself included.
class layout_peers {
 public:
  /// `shape` is of `from` and `to`. May allocate.
  layout_peers(const layout_shape& shape, const layout& from, const layout& to, const layout_options& o, int rank,
               bool sends);

  /// How many there are.
  [[nodiscard]] count_t count() const noexcept;
  /// Calls f(rank, elements) for each.
  template <class F>
  void each(F f) const {
    if (!axes_.empty()) walk(0, 1, 0, f);
  }

 private:
  struct axis {
    std::size_t stride;  // of a coordinate in the position
    std::vector<common_part> parts;
  };
  template <class F>
  void walk(std::size_t d, count_t elements, std::size_t position, F& f) const {
    if (d == axes_.size()) return f(rank_at(position), elements);
    for (const common_part& p : axes_[d].parts)
      walk(d + 1, elements * p.indices, position + static_cast<std::size_t>(p.process) * axes_[d].stride, f);
  }
  [[nodiscard]] int rank_at(std::size_t position) const noexcept;

  const layout* there_;
  std::vector<axis> axes_;  // none: the rank is outside the grid
};

}  // namespace taquin::detail
