#include "layouts/chunk_walk.hpp"

#include <algorithm>
#include <cmath>

#include "base/sizes.hpp"

namespace taquin::detail {

chunk_walk::chunk_walk(const layout_problem& problem, count_t elements, std::size_t runs,
                       std::pmr::memory_resource* memory)
    : problem_(problem),
      most_elements_(elements),
      most_runs_(runs),
      runs_(problem.axes.size() * runs, axis_run{}, memory),
      axes_(memory) {
  axes_.reserve(problem.axes.size());
  for (const moved_axis& a : problem.axes) axes_.push_back({.walk = axis_walk(a, 0, 0)});
}

// The next runs along an axis, of at most so many elements; false at its end.
bool chunk_walk::fill(std::size_t d, count_t most) {
  axis_chunk& a = axes_[d];
  axis_run* const to = &runs_[d * most_runs_];
  a.runs = 0;
  a.length = 0;
  while (a.runs < most_runs_ && a.length < most && !a.walk.at_end()) {
    axis_run r = a.walk.next(most - a.length);
    r.at = a.length;
    a.length += r.length;
    to[a.runs++] = r;
  }
  return a.length > 0;
}

// The first runs along an axis.
bool chunk_walk::first(std::size_t d, count_t most) {
  axis_chunk& a = axes_[d];
  a.walk = axis_walk(problem_.axes[d], a.sender, a.receiver);
  if (!fill(d, std::max<count_t>(most, 1))) return false;
  a.most = a.length;
  a.single = a.walk.at_end();
  return true;
}

bool chunk_walk::restart(std::size_t d) {
  axis_chunk& a = axes_[d];
  if (a.single) return true;
  a.walk = axis_walk(problem_.axes[d], a.sender, a.receiver);
  return fill(d, a.most);
}

// Chunks are long along the axis that changes fastest in the source. Where another one does in the target they are
// about as long along that, so that both ranks read or write whole cache lines.
bool chunk_walk::begin(std::span<const int> sender, std::span<const int> receiver) {
  const auto& order = problem_.order;
  for (std::size_t d = 0; d < axes_.size(); ++d) {
    axes_[d].sender = sender[d];
    axes_[d].receiver = receiver[d];
    axes_[d].length = 0;
  }
  count_t most = most_elements_;
  const auto fastest = as_size(order.back());
  const auto there = as_size(problem_.fastest_there);
  if (fastest != there) {
    const auto root = static_cast<count_t>(std::sqrt(static_cast<double>(most_elements_)));
    if (!first(fastest, root)) return false;
    if (!first(there, most / axes_[fastest].length)) return false;
    if (!first(fastest, most / axes_[there].length)) return false;
    most /= axes_[fastest].length * axes_[there].length;
  } else {
    if (!first(fastest, most)) return false;
    most /= axes_[fastest].length;
  }
  for (std::size_t k = order.size() - 1; k-- > 0;) {
    const auto d = as_size(order[k]);
    if (d == there && d != fastest) continue;
    if (!first(d, most)) return false;
    most /= axes_[d].length;
  }
  return true;
}

bool chunk_walk::next() {
  for (std::size_t k = problem_.order.size(); k-- > 0;) {
    const auto d = as_size(problem_.order[k]);
    if (!axes_[d].walk.at_end() && fill(d, axes_[d].most)) return true;
    restart(d);
  }
  return false;
}

count_t chunk_walk::elements() const noexcept {
  count_t n = 1;
  for (const axis_chunk& a : axes_) n *= a.length;
  return n;
}

}  // namespace taquin::detail
