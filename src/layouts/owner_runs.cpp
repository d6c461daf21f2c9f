#include "layouts/owner_runs.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "layouts/axis.hpp"

namespace taquin::detail {

owner_runs::segment owner_runs::ahead(const distributed_axis& a, count_t local) noexcept {
  const count_t index = global_index(*a.mine, a.coordinate, local);
  const owned_block theirs = block_of(*a.theirs, index);
  const count_t mine_end = block_of(*a.mine, index).end;
  return {as_size(theirs.process) * a.stride, std::min(theirs.end, mine_end) - index};
}

owner_runs::segment owner_runs::behind(const distributed_axis& a, count_t local) noexcept {
  const count_t index = global_index(*a.mine, a.coordinate, local - 1);
  const owned_block theirs = block_of(*a.theirs, index);
  const count_t mine_begin = block_of(*a.mine, index).begin;
  return {as_size(theirs.process) * a.stride, index + 1 - std::max(theirs.begin, mine_begin)};
}

bool owner_runs::one_owner(const distributed_axis& a) noexcept {
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

owner_runs::owner_runs(std::span<const distributed_axis> axes, std::size_t element) : inner_(element) {
  for (const distributed_axis& a : axes)
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
