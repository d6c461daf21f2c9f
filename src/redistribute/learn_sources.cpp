#include "redistribute/learn_sources.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "redistribute/machine.hpp"

namespace taquin::detail {

void accumulate(std::pmr::vector<std::uint32_t>& at) {
  std::uint32_t sum = 0;
  for (auto& v : at) sum += std::exchange(v, sum);
}

int targets::source_of(std::uint32_t number) const {
  return static_cast<int>(std::ranges::upper_bound(in_at, number) - in_at.begin()) - 1;
}

int targets::source_at(slot x) const {
  need n(place[x]);
  const bool here = n.what() == need::kind::here;
  if (here) n = need(place[n.number()]);
  return n.numbered() && (n.what() == need::kind::aside) == here ? source_of(n.number()) : -1;
}

void targets::list(const block_map& map, listed what) {
  std::pmr::vector<std::uint32_t> next(out_at, out_at.get_allocator());
  order.resize(out_at.back());
  for (slot s = 0; s < map.slots(); ++s) {
    if (map.free(s)) continue;
    const auto to = as_size(map[s].rank);
    if (next[to] < out_at[to + 1]) order[next[to]++] = what == listed::slots ? s : map[s].index;
  }
}

// In place. Block k is for the place that word k names, below 2^30: k is written there as a `need`, and the word that
// it replaces continues the chain, as the name of the place of block x, unless that is a need.
void targets::number_places(const block_map& map, int rank) {
  const auto is_name = [&](slot x) { return place[x] <= need::most; };
  for (std::uint32_t begin = 0; begin < in_at.back(); ++begin) {
    if (!is_name(begin)) continue;
    std::uint32_t number = begin;
    slot x = std::exchange(place[begin], need::none);
    for (;;) {
      const bool more = is_name(x);
      const word before = std::exchange(place[x], need::make(need::kind::elsewhere, number));
      if (!more && before != need::none && !wanted_twice) wanted_twice = clash{x, {need(before).number(), number}};
      if (!more) break;
      number = x;
      x = before;
    }
  }
  for (slot s = 0; s < map.slots() && count(out_at, rank) > 0; ++s)
    if (map[s].rank == rank) place[map[s].index] = need::make(need::kind::here, s);
  learnt = true;
}

std::size_t targets::bytes(const table_sizes& s) noexcept {
  return 2 * (s.ranks + 1) * sizeof(std::uint32_t) + s.slots() * sizeof(word);
}
std::size_t targets::order_bytes(const table_sizes& s) noexcept { return (s.blocks + 1) * sizeof(slot); }
std::size_t learn_sources_bytes(const table_sizes& s) noexcept { return (s.ranks + 1) * sizeof(std::uint32_t); }

task learn_sources(machine& m, targets& t, bool* valid) {
  constexpr std::uint32_t invalid = std::numeric_limits<std::uint32_t>::max();  // for a number of blocks, to all ranks
  const auto p = as_size(m.ranks);
  const block_map& map = *m.map;
  for (auto* list : {&t.out_at, &t.in_at}) list->assign(p + 1, 0);
  const auto out = std::span(t.out_at).first(p);
  const auto in = std::span(t.in_at).first(p);
  map.count(out);
  if (valid != nullptr && !*valid) std::ranges::fill(out, invalid);
  co_await m.net->alltoall(out, in);
  if (valid != nullptr) {
    *valid = std::ranges::find(in, invalid) == in.end();
    if (!*valid) co_return;
  }

  // With more blocks than places two blocks go to one place. This already holds for any blocks + 1 of them, so no more
  // are received.
  std::uint64_t room = m.blocks() + 1;
  std::array<std::uint64_t, 1> crowded{std::accumulate(in.begin(), in.end(), std::uint64_t{0}) >= room ? 1U : 0U};
  co_await m.net->sum(crowded);
  t.crowded = crowded[0] > 0;
  if (t.crowded) {
    for (auto& n : in) room -= n = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, room));
    co_await m.net->alltoall(in, out);
  }

  accumulate(t.out_at);
  accumulate(t.in_at);
  t.place.assign(map.slots(), need::none);
  if (m.handed_over) {
    co_await m.net->exchange(map.indices(), t.out_at, t.place, t.in_at, block_map::index_stride);
  } else {
    t.list(map, targets::listed::indices);
    co_await m.net->exchange(t.order, t.out_at, t.place, t.in_at);
    t.list(map, targets::listed::slots);
  }
  t.number_places(map, m.rank);
}

}  // namespace taquin::detail
