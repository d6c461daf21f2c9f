#include "redistribute/machine.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

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

// A test by the program then copies a chunk, and not all that there is to move.
task permute(machine& m, block_map::sort_tables& tables) {
  permutation moves(*m.map, tables.source, m.spare());
  while (!moves.go_on(m.blocks_per_test())) co_await m.net->suspend_test();
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
    if (m.known != nullptr) m.known->forget_order();
    m.known = nullptr;
    m.handed_over = true;
    m.least_progress = 0;
    a = m.hand_over.empty() ? nullptr : find_redistribution(m.hand_over);
  }
  co_await put_in_place(m);
}

}  // namespace taquin::detail
