#include "redistribute/block_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

void block_map::count(std::span<std::uint32_t> counts) const noexcept {
  std::ranges::fill(counts, 0U);
  for (const address& a : at_)
    if (a.rank >= 0) ++counts[as_size(a.rank)];
}

void block_map::no_such_slot(slot s) const {
  throw usage_error(fmt::format("block {} does not exist: there are {} places for blocks", s, at_.size()), MPI_ERR_ARG);
}

// source[s] is the slot whose block comes to slot s, or no_slot. Chains that begin at a free slot need no spare block:
// the hole walks against the arrows. What remains are closed cycles of occupied slots.
void block_map::permute(std::span<slot> source, slot spare) {
  const auto follow = [&](slot hole, slot end) {
    while (source[hole] != end) {
      const slot from = source[hole];
      move(from, hole);
      source[hole] = hole;
      hole = from;
    }
    return hole;
  };
  const auto n = static_cast<slot>(source.size());
  for (slot s = 0; s < n; ++s)
    if (source[s] != no_slot && free(s)) follow(s, no_slot);
  for (slot s = 0; s < n; ++s) {
    if (source[s] == no_slot || source[s] == s) continue;
    move(s, spare);
    const slot last = follow(s, s);
    move(spare, last);
    source[last] = last;
  }
}

void block_map::sort(int ranks, slot spare, std::pmr::memory_resource* memory) {
  sort_tables tables(at_.size(), as_size(ranks), memory);
  auto& [source, next] = tables;
  for (const address& a : at_)
    if (a.rank >= 0) ++next[as_size(a.rank) + 1];
  for (std::size_t r = 1; r < next.size(); ++r) next[r] += next[r - 1];
  for (slot s = 0; s < at_.size(); ++s)
    if (!free(s)) source[next[as_size(at_[s].rank)]++] = s;
  permute(source, spare);
}

void block_map::place(std::int32_t self, slot spare, std::pmr::memory_resource* memory) {
  sort_tables tables(at_.size(), 0, memory);
  place(self, spare, tables.source);
}

void block_map::place(std::int32_t self, slot spare, std::span<slot> table) {
  std::ranges::fill(table, no_slot);
  for (slot s = 0; s < at_.size(); ++s)
    if (at_[s].rank == self) table[at_[s].index] = s;
  permute(table, spare);
}

}  // namespace taquin::detail
