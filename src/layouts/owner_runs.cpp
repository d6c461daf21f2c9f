#include "layouts/owner_runs.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "layouts/axis.hpp"

namespace taquin::detail {

namespace {

// The block that an index lies in, and its process.
struct owned_block {
  int process;
  count_t begin;
  count_t end;
};

owned_block block_of(const dimension& d, count_t index) noexcept {
  if (d.block > 0) {
    const count_t number = index / d.block;
    const count_t begin = number * d.block;
    return {static_cast<int>((number + d.first) % d.processes), begin,
            d.extent - begin < d.block ? d.extent : begin + d.block};
  }
  int process = 0;
  if (!d.bounds.empty()) {
    process = static_cast<int>(std::ranges::upper_bound(d.bounds, index) - d.bounds.begin()) - 1;
  } else {
    const count_t least = d.extent / d.processes;
    const count_t longer = d.extent % d.processes;
    process = static_cast<int>(index < longer * (least + 1) ? index / (least + 1)
                                                            : longer + (index - longer * (least + 1)) / least);
  }
  const index_block b = block_behind(d, process, index);
  return {process, b.begin, b.end};
}

// The index of the whole array of a rank's local index.
count_t global_of(const dealt_axis& a, count_t local) noexcept {
  const dimension& d = *a.mine;
  if (d.block == 0) return block_behind(d, a.coordinate, 0).begin + local;
  const count_t distance = a.coordinate >= d.first ? a.coordinate - d.first : a.coordinate - d.first + d.processes;
  return (local / d.block * d.processes + distance) * d.block + local % d.block;
}

}  // namespace

owner_runs::segment owner_runs::ahead(const dealt_axis& a, count_t local) noexcept {
  const count_t index = global_of(a, local);
  const owned_block theirs = block_of(*a.theirs, index);
  const count_t mine_end = block_of(*a.mine, index).end;
  return {as_size(theirs.process) * a.stride, std::min(theirs.end, mine_end) - index};
}

owner_runs::segment owner_runs::behind(const dealt_axis& a, count_t local) noexcept {
  const count_t index = global_of(a, local - 1);
  const owned_block theirs = block_of(*a.theirs, index);
  const count_t mine_begin = block_of(*a.mine, index).begin;
  return {as_size(theirs.process) * a.stride, index + 1 - std::max(theirs.begin, mine_begin)};
}

bool owner_runs::one_owner(const dealt_axis& a) noexcept {
  if (a.theirs->processes == 1) return true;
  const count_t owned = a.mine->owned(a.coordinate);
  const std::size_t first = ahead(a, 0).owner;
  for (count_t i = 0; i < owned;) {
    const segment s = ahead(a, i);
    if (s.owner != first) return false;
    i += s.length;
  }
  return true;
}

owner_runs::owner_runs(std::span<const dealt_axis> axes, std::size_t element) : inner_(element) {
  for (const dealt_axis& a : axes)
    if (a.coordinate == outside_grid || a.mine->owned(a.coordinate) == 0) empty_ = true;
  if (empty_) return;
  used_ = axes.size();
  while (used_ > 0 && one_owner(axes[used_ - 1])) {
    --used_;
    within_ += ahead(axes[used_], 0).owner;
    inner_ *= as_size(axes[used_].mine->owned(axes[used_].coordinate));
  }
  for (std::size_t k = 0; k < used_; ++k) {
    axes_[k] = axes[k];
    owned_[k] = axes[k].mine->owned(axes[k].coordinate);
  }
}

}  // namespace taquin::detail
