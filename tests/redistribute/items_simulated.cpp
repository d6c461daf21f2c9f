// The map of whole items after a failed migration, from that of the units that its exchange has moved.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "base/sizes.hpp"
#include "redistribute/migration_map.hpp"

namespace taquin::detail {
namespace {

using failure::part;
using failure::state;

constexpr count_t unit_bytes = 2;

// One part for each unit of each peer's items, which lie one after the other; `gone`: a unit that is not listed.
struct units_of_items {
  count_t units;  // of an item
  std::vector<count_t> items;
  std::vector<part> parts{};
  std::vector<std::byte> staged{};
  static constexpr int gone = -1;

  void add(int peer, count_t unit, count_t at, int what) {
    if (what == gone) return;
    part p{static_cast<state>(what), peer, unit, 1, at};
    if (p.what == state::missing) p.at = -1;
    if (p.what == state::staged) {
      p.at = static_cast<count_t>(staged.size()) / unit_bytes;
      staged.insert(staged.end(), {static_cast<std::byte>(peer), static_cast<std::byte>(unit)});
    }
    parts.push_back(p);
  }
  // Whole items have one state most of the time.
  void fill(const std::vector<int>& states) {
    count_t at = 0;
    for (std::size_t peer = 0; peer < items.size(); ++peer)
      for (count_t i = 0; i < items[peer]; ++i) {
        const int usual = *rc::gen::elementOf(states);
        for (count_t u = 0; u < units; ++u) {
          const int what = *rc::gen::inRange(0, 8) == 0 ? *rc::gen::elementOf(states) : usual;
          add(static_cast<int>(peer), i * units + u, at++, what);
        }
      }
  }
  // The item of a peer; missing unless all its units have one state.
  [[nodiscard]] part item(int peer, count_t i) const {
    std::vector<part> of_it;
    for (const part& p : parts)
      if (p.peer == peer && p.offset / units == i) of_it.push_back(p);
    const bool whole = static_cast<count_t>(of_it.size()) == units &&
                       std::ranges::all_of(of_it, [&](const part& p) { return p.what == of_it.front().what; });
    if (!whole) return {state::missing, peer, i, 1, -1};
    const part& first = of_it.front();
    return {first.what, peer, i, 1, first.at > 0 && first.what != state::staged ? first.at / units : first.at};
  }
};

units_of_items some_items() {
  const auto few = [](int least, int most) { return *rc::gen::inRange(least, most + 1); };
  units_of_items x{.units = few(1, 4), .items = {}};
  for (int peers = few(1, 3); peers > 0; --peers) x.items.push_back(few(0, 5));
  return x;
}

// The parts of one item each.
std::vector<part> one_by_one(const std::vector<part>& parts) {
  std::vector<part> all;
  for (const part& p : parts)
    for (count_t i = 0; i < p.length; ++i) all.push_back({p.what, p.peer, p.offset + i, 1, p.at < 0 ? p.at : p.at + i});
  return all;
}

RC_GTEST_PROP(items_of_a_migration, are_missing_unless_all_their_units_are_in_one_state, ()) {
  units_of_items x = some_items();
  x.fill({static_cast<int>(state::arrived), static_cast<int>(state::staged), static_cast<int>(state::missing),
          static_cast<int>(state::unknown)});
  const failure::block_map units{
      .known = true, .unit_bytes = unit_bytes, .outgoing = {}, .incoming = x.parts, .staged = x.staged};
  const auto bytes = as_size(x.units * unit_bytes);
  const failure::block_map map = map_of_items(units, as_size(x.units), bytes);
  RC_ASSERT(map.unit_bytes == static_cast<count_t>(bytes));
  const std::vector<part> got = one_by_one(map.incoming);
  std::size_t k = 0;
  for (std::size_t peer = 0; peer < x.items.size(); ++peer)
    for (count_t i = 0; i < x.items[peer]; ++i, ++k) {
      const part want = x.item(static_cast<int>(peer), i);
      RC_ASSERT(k < got.size());
      RC_ASSERT(got[k].what == want.what);
      RC_ASSERT(got[k].peer == want.peer);
      RC_ASSERT(got[k].offset == i);
      if (want.what != state::staged) {
        RC_ASSERT(got[k].at == want.at);
        continue;
      }
      const auto from = x.staged.begin() + want.at * unit_bytes;
      const auto copy = map.staged.begin() + got[k].at * static_cast<count_t>(bytes);
      RC_ASSERT(std::equal(copy, copy + static_cast<std::ptrdiff_t>(bytes), from));
    }
  RC_ASSERT(k == got.size());
}

RC_GTEST_PROP(items_of_a_migration, are_with_their_sender_if_all_their_units_are, ()) {
  units_of_items x = some_items();
  x.fill({static_cast<int>(state::stands), units_of_items::gone});
  const failure::block_map units{
      .known = true, .unit_bytes = unit_bytes, .outgoing = x.parts, .incoming = {}, .staged = {}};
  const auto bytes = as_size(x.units * unit_bytes);
  const std::vector<part> got = one_by_one(map_of_items(units, as_size(x.units), bytes).outgoing);
  std::size_t k = 0;
  for (std::size_t peer = 0; peer < x.items.size(); ++peer)
    for (count_t i = 0; i < x.items[peer]; ++i) {
      const part want = x.item(static_cast<int>(peer), i);
      if (want.what == state::missing) continue;
      RC_ASSERT(k < got.size());
      RC_ASSERT(got[k].peer == want.peer);
      RC_ASSERT(got[k].offset == i);
      RC_ASSERT(got[k++].at == want.at);
    }
  RC_ASSERT(k == got.size());
}

}  // namespace
}  // namespace taquin::detail
