#include "taquin/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/axis.hpp"

namespace taquin {

namespace detail {

namespace {

// The one block of a process.
index_block only_block(const dimension& d, int process) noexcept {
  if (!d.bounds.empty()) return {d.bounds[as_size(process)], d.bounds[as_size(process) + 1], 0};
  const count_t least = d.extent / d.processes;
  const count_t longer = d.extent % d.processes;
  const count_t begin = process * least + std::min<count_t>(process, longer);
  return {begin, begin + least + (process < longer ? 1 : 0), 0};
}

// How many processes after the first block's owner.
int distance(const dimension& d, int process) noexcept {
  return process >= d.first ? process - d.first : process - d.first + d.processes;
}

}  // namespace

index_block block_behind(const dimension& d, int process, count_t index) noexcept {
  if (d.processes == 1) return index < d.extent ? index_block{0, d.extent, 0} : index_block{d.extent, d.extent, 0};
  if (d.block == 0) {
    const index_block b = only_block(d, process);
    return b.end > index ? b : index_block{d.extent, d.extent, 0};
  }
  const count_t blocks = d.extent > 0 ? (d.extent - 1) / d.block + 1 : 0;
  const count_t wanted = index > 0 ? index / d.block : 0;
  const count_t mine = distance(d, process);
  const count_t round = wanted > mine ? (wanted - mine - 1) / d.processes + 1 : 0;
  if (mine >= blocks || round > (blocks - 1 - mine) / d.processes) return {d.extent, d.extent, 0};
  const count_t begin = (mine + round * d.processes) * d.block;
  return {begin, d.extent - begin < d.block ? d.extent : begin + d.block, round * d.block};
}

owned_block block_of(const dimension& d, count_t index) noexcept {
  if (d.processes == 1) return {0, 0, d.extent};
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
  const index_block b = only_block(d, process);
  return {process, b.begin, b.end};
}

count_t global_index(const dimension& d, int process, count_t local) noexcept {
  if (d.block == 0) return only_block(d, process).begin + local;
  return (local / d.block * d.processes + distance(d, process)) * d.block + local % d.block;
}

count_t block_stride(const dimension& d) noexcept {
  const checked stride = checked(d.block) * d.processes;
  return d.block > 0 && d.processes > 1 && stride.fits() ? stride.value() : 0;
}

int layout_access::axis(const layout& l, std::size_t k) noexcept {
  if (!l.axes_.empty()) return l.axes_[k];
  return static_cast<int>(l.storage_ == storage_order::c ? k : l.dimensions_.size() - 1 - k);
}

void layout_access::coordinates(const layout& l, int rank, std::span<int> to) noexcept {
  count_t position = rank;
  if (!l.ranks_.empty()) {
    const auto rank_of = [&](int k) { return l.ranks_[as_size(k)]; };
    const auto at = std::ranges::lower_bound(l.by_rank_, rank, {}, rank_of);
    position = at != l.by_rank_.end() && rank_of(*at) == rank ? *at : l.processes();
  }
  if (to.empty()) return;
  if (position >= l.processes()) {
    std::ranges::fill(to, outside_grid);
    return;
  }
  coordinates_at(l, position, to);
}

void layout_access::coordinates_at(const layout& l, count_t position, std::span<int> to) noexcept {
  for (std::size_t k = 0; k < to.size(); ++k) {
    const std::size_t d = l.grid_ == storage_order::c ? to.size() - 1 - k : k;
    to[d] = static_cast<int>(position % l.dimensions_[d].processes);
    position /= l.dimensions_[d].processes;
  }
}

std::size_t layout_access::grid_stride(const layout& l, std::size_t d) noexcept {
  std::size_t stride = 1;
  const bool c = l.grid_ == storage_order::c;
  for (std::size_t k = c ? d + 1 : 0; k < (c ? l.dimensions_.size() : d); ++k)
    stride *= as_size(l.dimensions_[k].processes);
  return stride;
}

int layout_access::rank_at(const layout& l, std::size_t position) noexcept {
  return l.ranks_.empty() ? static_cast<int>(position) : l.ranks_[position];
}

count_t layout_access::before(const layout& l, std::size_t axis) noexcept {
  return l.before_.empty() ? 0 : l.before_[axis];
}

count_t layout_access::allocated(const layout& l, std::size_t axis, count_t owned) noexcept {
  if (!l.allocated_.empty() && l.allocated_[axis] > 0) return l.allocated_[axis];
  return owned + before(l, axis) + (l.after_.empty() ? 0 : l.after_[axis]);
}

void layout_access::add_to(fingerprint& all, const layout& l) noexcept {
  all.add(l.dimensions_.size());
  for (const dimension& d : l.dimensions_) {
    for (const count_t v : {d.extent, count_t{d.processes}, d.block, count_t{d.first}}) all.add(v);
    all.add(d.bounds.size());
    for (const count_t b : d.bounds) all.add(b);
  }
  all.add(l.grid_);
  all.add(std::span<const int>(l.ranks_));
  for (std::size_t k = 0; k < l.dimensions_.size(); ++k) all.add(axis(l, k));
}

std::size_t layout_access::bytes(const layout& l) noexcept {
  std::size_t n = l.dimensions_.size() * sizeof(dimension) + (2 * l.ranks_.size() + l.axes_.size()) * sizeof(int);
  n += (l.allocated_.size() + l.before_.size() + l.after_.size()) * sizeof(count_t);
  for (const dimension& d : l.dimensions_) n += d.bounds.size() * sizeof(count_t);
  return n;
}

std::string layout_access::invalid_storage(const layout& l, int rank, count_t element_bytes) {
  const std::vector<count_t> owned = l.local_extents(rank);
  const bool holds = std::ranges::find(owned, 0) == owned.end();
  checked all = element_bytes;
  for (std::size_t d = 0; d < owned.size(); ++d) {
    if (!l.allocated_.empty() && l.allocated_[d] > 0 && holds) {
      const count_t needed = owned[d] + before(l, d) + (l.after_.empty() ? 0 : l.after_[d]);
      if (l.allocated_[d] < needed)
        return fmt::format("dimension {}: the local array has {} elements along it, {} are needed", d, l.allocated_[d],
                           needed);
    }
    all = all * std::max<count_t>(allocated(l, d, owned[d]), 1);
  }
  if (!all.fits()) return fmt::format("the local array has more than 2^56 bytes");
  return {};
}

namespace {

std::string invalid_dimension(const dimension& d) {
  if (d.extent < 0) return fmt::format("the extent must be ≥ 0, got {}", d.extent);
  if (d.processes < 1) return fmt::format("the number of processes must be ≥ 1, got {}", d.processes);
  if (d.block < 0) return fmt::format("the block must be ≥ 0, got {}", d.block);
  if (d.first < 0 || d.first >= d.processes) return fmt::format("the first process is {}, of {}", d.first, d.processes);
  if (d.extent > most_bytes || d.block > most_bytes)
    return fmt::format("{} indices in blocks of {} are more than 2^56", d.extent, d.block);
  if (d.bounds.empty()) return {};
  if (d.bounds.size() != as_size(d.processes) + 1)
    return fmt::format("{} given blocks for {} processes", d.bounds.size() - 1, d.processes);
  for (std::size_t i = 0; i + 1 < d.bounds.size(); ++i)
    if (d.bounds[i + 1] < d.bounds[i])
      return fmt::format("process {} has indices {} to {}: blocks overlap", i, d.bounds[i], d.bounds[i + 1]);
  if (d.bounds.front() != 0 || d.bounds.back() != d.extent)
    return fmt::format("the given blocks cover {} to {} of {} indices", d.bounds.front(), d.bounds.back(), d.extent);
  return {};
}

}  // namespace

}  // namespace detail

using detail::as_size;
using detail::checked;
using detail::layout_access;

dimension dimension::given(std::span<const count_t> lengths) {
  dimension d;
  d.processes = static_cast<int>(lengths.size());
  d.bounds.push_back(0);
  for (const count_t n : lengths) {
    const checked end = checked(d.bounds.back()) + n;
    d.bounds.push_back(end.fits() ? end.value() : detail::most_bytes + 1);
  }
  d.extent = d.bounds.back();
  return d;
}

count_t dimension::owned(int process) const noexcept {
  if (process < 0 || process >= processes || block < 0 || extent < 0) return 0;
  if (block == 0) {
    if (!bounds.empty() && bounds.size() != as_size(processes) + 1) return 0;
    const detail::index_block b = detail::only_block(*this, process);
    return b.end - b.begin;
  }
  const count_t blocks = extent > 0 ? (extent - 1) / block + 1 : 0;
  const count_t mine = detail::distance(*this, process);
  if (mine >= blocks) return 0;
  const count_t count = (blocks - 1 - mine) / processes + 1;
  const bool last = mine + (count - 1) * processes == blocks - 1;
  return count * block - (last ? blocks * block - extent : 0);
}

layout layout::scalapack(count_t m, count_t n, count_t mb, count_t nb, int rsrc, int csrc, count_t lld, int nprow,
                         int npcol, std::span<const int> ranks) {
  layout l({dimension::block_cyclic(m, nprow, mb, rsrc), dimension::block_cyclic(n, npcol, nb, csrc)},
           storage_order::fortran, storage_order::fortran);
  if (!ranks.empty()) l.on_ranks(ranks);
  const std::array<count_t, 2> leading{lld, 0};
  return l.allocated(leading);
}

layout layout::darray(std::span<const int> gsizes, std::span<const int> distribs, std::span<const int> dargs,
                      std::span<const int> psizes, int order) {
  std::vector<dimension> all;
  for (std::size_t d = 0; d < gsizes.size(); ++d) {
    const bool given = dargs[d] != MPI_DISTRIBUTE_DFLT_DARG;
    if (distribs[d] == MPI_DISTRIBUTE_NONE) {
      all.push_back(dimension::even(gsizes[d], psizes[d]));
      if (psizes[d] != 1) all.back().first = -1;  // refused: MPI wants one process
    } else if (distribs[d] == MPI_DISTRIBUTE_BLOCK && !given) {
      all.push_back(dimension::block_of(gsizes[d], psizes[d]));
    } else {
      all.push_back(dimension::block_cyclic(gsizes[d], psizes[d], given ? dargs[d] : 1));
      if (all.back().block == 0) all.back().block = -1;  // refused
      if (distribs[d] == MPI_DISTRIBUTE_BLOCK &&
          count_t{dargs[d]} * psizes[d] < gsizes[d]) {  // does not cover: refused
        all.back() = dimension::given(std::vector<count_t>(as_size(std::max(psizes[d], 0)), dargs[d]));
        all.back().extent = gsizes[d];
      }
    }
  }
  return layout(std::move(all), order == MPI_ORDER_FORTRAN ? storage_order::fortran : storage_order::c);
}

layout& layout::on_ranks(std::span<const int> ranks) {
  ranks_.assign(ranks.begin(), ranks.end());
  by_rank_.resize(ranks_.size());
  std::iota(by_rank_.begin(), by_rank_.end(), 0);
  std::ranges::stable_sort(by_rank_, {}, [this](int k) { return ranks_[as_size(k)]; });
  return *this;
}
layout& layout::allocated(std::span<const count_t> extents) {
  allocated_.assign(extents.begin(), extents.end());
  return *this;
}
layout& layout::halo(std::span<const count_t> before, std::span<const count_t> after) {
  before_.assign(before.begin(), before.end());
  after_.assign(after.begin(), after.end());
  return *this;
}
layout& layout::stored(std::span<const int> axes) {
  axes_.assign(axes.begin(), axes.end());
  return *this;
}

count_t layout::processes() const noexcept {
  if (dimensions_.empty()) return 0;
  checked n = 1;
  for (const dimension& d : dimensions_) n = n * d.processes;
  return n.value();
}

std::vector<count_t> layout::local_extents(int rank) const {
  std::vector<count_t> extents(dimensions_.size(), 0);
  std::vector<int> at(dimensions_.size(), 0);
  layout_access::coordinates(*this, rank, at);
  for (std::size_t d = 0; d < at.size(); ++d)
    if (at[d] != detail::outside_grid) extents[d] = dimensions_[d].owned(at[d]);
  return extents;
}

count_t layout::local_size(int rank) const {
  const std::vector<count_t> owned = local_extents(rank);
  if (owned.empty() || std::ranges::find(owned, 0) != owned.end()) return 0;
  count_t n = 1;
  for (std::size_t d = 0; d < owned.size(); ++d) n *= layout_access::allocated(*this, d, owned[d]);
  return n;
}

layout::place layout::find(std::span<const count_t> index) const {
  std::vector<int> at(dimensions_.size(), 0);
  std::vector<count_t> local(dimensions_.size(), 0);
  for (std::size_t d = 0; d < at.size(); ++d) {
    at[d] = detail::block_of(dimensions_[d], index[d]).process;
    const detail::index_block b = detail::block_behind(dimensions_[d], at[d], index[d]);
    local[d] = b.local + index[d] - b.begin;
  }
  count_t position = 0;
  count_t offset = 0;
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::size_t g = grid_ == storage_order::c ? k : at.size() - 1 - k;
    position = position * dimensions_[g].processes + at[g];
    const std::size_t d = as_size(layout_access::axis(*this, k));
    offset = offset * layout_access::allocated(*this, d, dimensions_[d].owned(at[d])) +
             layout_access::before(*this, d) + local[d];
  }
  return {ranks_.empty() ? static_cast<int>(position) : ranks_[as_size(position)], offset};
}

std::string layout::invalid_on(int ranks) const {
  if (dimensions_.empty()) return "no dimensions";
  checked grid = 1;
  checked elements = 1;
  for (std::size_t d = 0; d < dimensions_.size(); ++d) {
    const std::string wrong = detail::invalid_dimension(dimensions_[d]);
    if (!wrong.empty()) return fmt::format("dimension {}: {}", d, wrong);
    grid = grid * dimensions_[d].processes;
    elements = elements * dimensions_[d].extent;
  }
  if (!grid.fits() || grid.value() > ranks)
    return fmt::format("a grid of {} processes on {} ranks", grid.value(), ranks);
  if (!elements.fits()) return "more than 2^56 elements";
  for (const auto* list : {&allocated_, &before_, &after_})
    if (!list->empty() && (list->size() != dimensions_.size() || std::ranges::min(*list) < 0))
      return fmt::format("leading dimensions and halos need one number that is not negative for each of {} dimensions",
                         dimensions_.size());
  if (before_.size() != after_.size()) return "halos on one side only";
  if (!axes_.empty()) {
    std::vector<int> sorted = axes_;
    std::ranges::sort(sorted);
    for (std::size_t k = 0; k < std::max(sorted.size(), dimensions_.size()); ++k)
      if (sorted.size() != dimensions_.size() || sorted[k] != static_cast<int>(k))
        return fmt::format("the storage order is no permutation of {} dimensions", dimensions_.size());
  }
  if (ranks_.empty()) return {};
  if (ranks_.size() != as_size(grid.value()))
    return fmt::format("{} ranks for a grid of {} processes", ranks_.size(), grid.value());
  std::vector<int> sorted = ranks_;
  std::ranges::sort(sorted);
  if (sorted.front() < 0 || sorted.back() >= ranks)
    return fmt::format("rank {} in the grid; ranks are 0 to {}", sorted.front() < 0 ? sorted.front() : sorted.back(),
                       ranks - 1);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fmt::format("rank {} is in the grid twice", *twice);
  return {};
}

}  // namespace taquin
