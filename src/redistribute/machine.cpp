#include "redistribute/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {
constexpr std::array all{
#define TAQUIN_REDISTRIBUTION(name) &name##_redistribution,
#include "redistribute/redistributions.def"
#undef TAQUIN_REDISTRIBUTION
};
}  // namespace

std::span<const redistribution_algorithm* const> redistributions() noexcept { return all; }

const redistribution_algorithm* find_redistribution(std::string_view name) noexcept {
  if (name == "auto") return all.front();
  const auto found = std::ranges::find(all, name, [](const auto* a) { return a->name; });
  return found == all.end() ? nullptr : *found;
}

std::string redistribution_names() {
  std::string names;
  for (const auto* a : all) {
    if (!names.empty()) names += ", ";
    names += a->name;
  }
  return names;
}

namespace {

// The header of this rank for the others.
struct told_indices {
  explicit told_indices(std::pmr::memory_resource* memory) : index(memory), next(memory) {}
  std::pmr::vector<word> index;          // of the blocks in targets::order
  std::pmr::vector<std::uint32_t> next;  // where the next block for each rank goes

  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&told_indices::index, s.outgoing);
    each(&told_indices::next, s.ranks);
  }
};

// From counts to where each begins, the total last.
void accumulate(std::pmr::vector<std::uint32_t>& at) {
  std::uint32_t sum = 0;
  for (auto& v : at) sum += std::exchange(v, sum);
}

}  // namespace

std::size_t exchange_targets_bytes(const table_sizes& s) noexcept { return array_list::bytes<told_indices>(s); }

void targets::keep_sources(slot blocks) {
  source.assign(blocks, -1);
  for (std::size_t r = 0; r + 1 < in_at.size(); ++r)
    for (std::uint32_t k = in_at[r]; k < in_at[r + 1]; ++k) source[index[k]] = static_cast<std::int32_t>(r);
  for (auto list : {&targets::out_at, &targets::order, &targets::in_at, &targets::index})
    std::pmr::vector<std::uint32_t>(source.get_allocator().resource()).swap(this->*list);
}

task exchange_targets(machine& m, targets& t, bool* valid) {
  constexpr std::uint32_t invalid = ~std::uint32_t{0};  // instead of a number of blocks, to all ranks
  const auto p = as_size(m.ranks);
  const auto self = as_size(m.rank);
  const block_map& map = *m.map;
  array_list::take(t, table_sizes{.ranks = p});
  const auto out = std::span(t.out_at).first(p);
  const auto in = std::span(t.in_at).first(p);
  map.count(out);
  const std::uint64_t stay = std::exchange(out[self], 0);
  if (valid != nullptr && !*valid) std::ranges::fill(out, invalid);
  co_await m.net->alltoall(out, in);
  if (valid != nullptr) {
    *valid = std::ranges::find(in, invalid) == in.end();
    if (!*valid) co_return;
  }

  // With more blocks than places two blocks go to one place. This already holds for any blocks + 1 of them, so no more
  // are received.
  std::uint64_t room = m.blocks() + 1 - stay;
  std::array<std::uint64_t, 1> crowded{std::accumulate(in.begin(), in.end(), std::uint64_t{0}) >= room ? 1U : 0U};
  co_await m.net->sum(crowded);
  t.crowded = crowded[0] > 0;
  if (t.crowded) {
    for (auto& n : in) room -= n = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, room));
    co_await m.net->alltoall(in, out);
  }

  accumulate(t.out_at);
  accumulate(t.in_at);
  array_list::take(t, m.tables(t));
  told_indices told(m.memory);
  array_list::take(told, m.tables(t));
  std::copy_n(t.out_at.begin(), p, told.next.begin());
  for (slot s = 0; s < map.slots(); ++s) {
    if (map.free(s) || map[s].rank == m.rank) continue;
    const auto to = as_size(map[s].rank);
    if (told.next[to] == t.out_at[to + 1]) continue;
    t.order[told.next[to]] = s;
    told.index[told.next[to]++] = map[s].index;
  }
  co_await m.net->exchange(told.index, t.out_at, t.index, t.in_at);
  t.learnt = true;
}

namespace {

// A test by the program then copies a chunk, and not all that there is to move.
task permute(machine& m, block_map::sort_tables& tables) {
  permutation moves(*m.map, tables.source, m.spare());
  while (!moves.go_on(m.piece())) co_await m.net->give_way();
}

}  // namespace

task put_in_place(machine& m) {
  bool misplaced = false;
  for (slot s = 0; s < m.map->slots() && !misplaced; ++s) misplaced = !m.map->free(s) && (*m.map)[s].index != s;
  if (!misplaced) co_return;
  block_map::sort_tables tables(m.map->slots(), 0, m.memory);
  m.map->by_index(m.rank, tables.source);
  co_await permute(m, tables);
}

task sort_by_rank(machine& m) {
  block_map::sort_tables tables = m.map->by_rank(m.ranks, m.memory);
  co_await permute(m, tables);
}

task redistribute_blocks(machine& m, const redistribution_algorithm& first) {
  const redistribution_algorithm* a = &first;
  while (a != nullptr) {
    m.hand_over = {};
    co_await a->run(m);
    if (m.known != nullptr && !m.hand_over.empty()) m.known->keep_sources(m.blocks());
    m.known = nullptr;
    m.handed_over = true;
    m.least_progress = 0;
    a = m.hand_over.empty() ? nullptr : find_redistribution(m.hand_over);
  }
  co_await put_in_place(m);
}

}  // namespace taquin::detail
