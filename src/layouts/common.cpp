#include "layouts/common.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/checked.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"

namespace taquin::detail {

namespace {

using sums = std::map<int, count_t>;

// After so many indices the owners repeat; 0: they do not.
count_t period(const dimension& d) noexcept {
  if (d.processes == 1) return 1;
  const count_t stride = block_stride(d);
  return stride < d.extent ? stride : 0;
}

// Of a dimension whose owners repeat: the indices of a process below `end`.
count_t owned_below(const dimension& d, int process, count_t end) {
  return d.processes == 1 ? end : dimension::block_cyclic(end, d.processes, d.block, d.first).owned(process);
}

// One side of an axis: index i of those that move is index i + begin of the dimension.
struct side {
  const dimension& of;
  count_t begin;
};

// Adds the owners of the indices begin … end − 1, `times` times.
void add_owners(const side& theirs, count_t begin, count_t end, count_t times, sums& all) {
  const dimension& d = theirs.of;
  const count_t stride = period(d);
  begin += theirs.begin;
  end += theirs.begin;
  if (stride > 0 && end - begin > stride) {
    for (int process = 0; process < d.processes; ++process)
      if (const count_t n = owned_below(d, process, end) - owned_below(d, process, begin); n > 0)
        all[process] += n * times;
    return;
  }
  while (begin < end) {
    const owned_block b = block_of(d, begin);
    all[b.process] += (std::min(b.end, end) - begin) * times;
    begin = b.end;
  }
}

// Among the first `indices` indices, block by block of the side that has fewer blocks.
void add(const side& mine, int coordinate, const side& theirs, count_t indices, count_t times, sums& all) {
  const count_t stride = block_stride(mine.of);
  const count_t my_blocks = stride > 0 ? indices / stride + 1 : 1;
  const count_t their_blocks = theirs.of.block > 0 ? indices / theirs.of.block + 1 : theirs.of.processes;
  if (period(mine.of) > 0 && my_blocks > their_blocks) {
    for (count_t i = 0; i < indices;) {
      const owned_block b = block_of(theirs.of, i + theirs.begin);
      const count_t end = std::min(b.end - theirs.begin, indices);
      const count_t n =
          owned_below(mine.of, coordinate, end + mine.begin) - owned_below(mine.of, coordinate, i + mine.begin);
      if (n > 0) all[b.process] += n * times;
      i = end;
    }
    return;
  }
  for (count_t i = 0; i < indices;) {
    const index_block b = block_behind(mine.of, coordinate, i + mine.begin);
    const count_t begin = std::max(b.begin - mine.begin, i);
    const count_t end = std::min(b.end - mine.begin, indices);
    if (begin >= end) break;
    add_owners(theirs, begin, end, times, all);
    i = end;
  }
}

}  // namespace

std::vector<common_part> common_parts(const moved_axis& axis, int coordinate, bool sends) {
  const side from{*axis.from, axis.from_begin};
  const side to{*axis.to, axis.to_begin};
  const side& mine = sends ? from : to;
  const side& theirs = sends ? to : from;
  const count_t one = period(mine.of);
  const count_t other = period(theirs.of);
  const checked both = one > 0 && other > 0 ? checked(one / std::gcd(one, other)) * other : checked(0);
  const count_t repeats = both.fits() && both.value() > 0 ? axis.extent / both.value() : 0;
  sums all;
  if (repeats > 0) add(mine, coordinate, theirs, both.value(), repeats, all);
  add(mine, coordinate, theirs, repeats > 0 ? axis.extent % both.value() : axis.extent, 1, all);
  std::vector<common_part> parts;
  parts.reserve(all.size());
  for (const auto& [process, indices] : all) parts.push_back({process, indices});
  return parts;
}

layout_peers::layout_peers(const layout_shape& shape, const layout& from, const layout& to, const layout_options& o,
                           int rank, bool sends)
    : there_(sends ? &to : &from) {
  const std::size_t n = shape.problem.axes.size();
  std::vector<int> at(n);
  sends ? shape.sender(rank, at) : shape.receiver(rank, at);
  if (n == 0 || at.front() == outside_grid) return;
  axes_.reserve(n);
  for (std::size_t d = 0; d < n; ++d) {
    const std::size_t in_target = o.axes.empty() ? d : as_size(o.axes[d]);
    axes_.push_back({layout_access::grid_stride(*there_, sends ? in_target : d),
                     common_parts(shape.problem.axes[d], at[d], sends)});
  }
}

count_t layout_peers::count() const noexcept {
  count_t n = axes_.empty() ? 0 : 1;
  for (const axis& a : axes_) n *= static_cast<count_t>(a.parts.size());
  return n;
}

int layout_peers::rank_at(std::size_t position) const noexcept { return layout_access::rank_at(*there_, position); }

}  // namespace taquin::detail
