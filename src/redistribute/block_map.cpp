#include "redistribute/block_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

std::uint32_t block_map::begins(std::span<std::uint32_t> at, int left_out) const noexcept {
  std::ranges::fill(at, 0U);
  for (const address& a : at_)
    if (a.rank >= 0) ++at[as_size(a.rank)];
  const std::uint32_t others = left_out < 0 ? 0 : std::exchange(at[as_size(left_out)], 0U);
  std::exclusive_scan(at.begin(), at.end(), at.begin(), 0U);
  return others;
}

void block_map::no_such_slot(slot s) const {
  throw usage_error(fmt::format("block {} does not exist: there are {} places for blocks", s, at_.size()), MPI_ERR_ARG);
}

// A chain that begins at a free slot needs no spare block: each move frees the slot that the next block moves to.
// Closed cycles of occupied slots remain.
bool permutation::find_chain() {
  const auto n = static_cast<slot>(source_.size());
  for (; !cycles_ && at_ < n; ++at_)
    if (source_[at_] != no_slot && map_.free(at_)) {
      free_region_ = at_;
      end_ = no_slot;
      return true;
    }
  if (!cycles_) at_ = 0;
  cycles_ = true;
  for (; at_ < n; ++at_)
    if (source_[at_] != no_slot && source_[at_] != at_) {
      move(at_, spare_);
      free_region_ = end_ = at_;
      return true;
    }
  return false;
}

void permutation::move(slot from, slot to) {
  map_.move(from, to);
  if (left_ > 0) --left_;
}

bool permutation::go_on(std::size_t most) {
  left_ = most;
  while (left_ > 0) {
    if (free_region_ == no_slot && !find_chain()) return true;
    const slot from = source_[free_region_];
    const bool closes = from == end_;
    if (!closes || end_ != no_slot) {
      move(closes ? spare_ : from, free_region_);
      source_[free_region_] = free_region_;
    }
    free_region_ = closes ? no_slot : from;
  }
  return false;
}

block_map::sort_tables block_map::by_rank(int ranks, std::pmr::memory_resource* memory) const {
  sort_tables tables(at_.size(), as_size(ranks), memory);
  begins(tables.next);
  partition(tables.next, -1, [&](std::uint32_t k, slot at) { tables.source[k] = at; });
  return tables;
}

void block_map::by_index(std::int32_t self, std::span<slot> source) const {
  std::ranges::fill(source, no_slot);
  for (slot s = 0; s < at_.size(); ++s)
    if (at_[s].rank == self) source[at_[s].index] = s;
}

void block_map::sort(int ranks, slot spare, std::pmr::memory_resource* memory) {
  sort_tables tables = by_rank(ranks, memory);
  permutation(*this, tables.source, spare).go_on(std::numeric_limits<std::size_t>::max());
}

void block_map::place(std::int32_t self, slot spare, std::span<slot> table) {
  by_index(self, table);
  permutation(*this, table, spare).go_on(std::numeric_limits<std::size_t>::max());
}

}  // namespace taquin::detail
