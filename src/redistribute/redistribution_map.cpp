#include "redistribute/redistribution_map.hpp"

#include <cstdint>
#include <vector>

#include "base/sizes.hpp"
#include "call/failure_map.hpp"

namespace taquin::detail {

namespace {

using failure::part;
using failure::state;

// The block in slot s, with its description if it is in the array.
part held(failure::block_map& map, const block_map& at, slot s, int peer, state in_array) {
  const part p{in_array, peer, at[s].index, 1, s};
  if (s < at.blocks()) return p;
  const std::size_t begin = map.staged.size();
  const std::size_t unit = at.units().unit_bytes();
  map.staged.resize(begin + unit);
  const unit_run from{s, 1};
  at.units().read(std::span(&from, 1), map.staged.data() + begin);
  return {state::staged, peer, at[s].index, 1, static_cast<count_t>(unit == 0 ? 0 : begin / unit)};
}

}  // namespace

failure::block_map map_of(const block_map& at, const targets& t, int rank) {
  failure::block_map map{.unit_bytes = static_cast<count_t>(at.units().unit_bytes())};
  map.known = t.learnt && !t.overfull;
  std::vector<slot> of_place(at.blocks(), no_slot);  // where the block is that belongs to a place of this rank
  for (slot s = 0; s < at.slots(); ++s) {
    if (!at.whole(s)) continue;
    if (at[s].rank == rank) {
      of_place[at[s].index] = s;
    } else {
      append(map.outgoing, held(map, at, s, at[s].rank, state::stands));
    }
  }
  const std::vector<std::int32_t> sources =
      t.learnt ? t.sources(at.blocks()) : std::vector<std::int32_t>(at.blocks(), -1);
  for (slot x = 0; x < at.blocks(); ++x) {
    const int source = sources[x];
    if (const slot s = of_place[x]; s != no_slot) {
      append(map.incoming, held(map, at, s, source < 0 ? rank : source, s == x ? state::arrived : state::displaced));
    } else if (source >= 0) {
      append(map.incoming, {state::missing, source, x, 1, -1});
    }
  }
  return map;
}

failure::block_map map_of(const given_map& given, std::size_t unit_bytes, int rank) {
  failure::block_map map{.unit_bytes = static_cast<count_t>(unit_bytes)};
  for (count_t k = 0; k < given.units(); ++k) {
    const count_t to = given.rank(k);
    const count_t index = given.index(k);
    if (to < 0) continue;
    const bool own = to == rank;
    const state what = !own ? state::stands : index == k ? state::arrived : state::displaced;
    append(own ? map.incoming : map.outgoing, {what, static_cast<int>(to), index, 1, k});
  }
  return map;
}

}  // namespace taquin::detail
