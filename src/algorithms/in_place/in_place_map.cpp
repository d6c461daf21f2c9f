#include "algorithms/in_place/in_place_map.hpp"

#include <algorithm>

#include "call/failure_map.hpp"

namespace taquin::detail {

namespace {

using failure::block_map;
using failure::part;
using failure::state;

// The data of the first units between this rank and a peer are swapped by either, in any order of parts: the counts of
// started and of completed units are known.
struct swapping {
  count_t all = 0;
  count_t started = 0;
  bool settled = true;  // all started swaps are done
};

swapping swaps_with(const in_place_protocol& p, int peer) {
  swapping s;
  if (peer == p.rank || !p.net.fetches()) return s;
  s.all = p.net.swappable(peer);
  if (s.all == 0) return s;
  const swap_counts c = p.net.swaps(peer);
  s.started = std::min(c.started, s.all);
  s.settled = std::min(c.done, s.all) == s.started;
  return s;
}

// Units [0, all) of a block that two ranks swap.
void add_swapped(std::vector<part>& to, const peer_block& b, const swapping& s, state done, state left) {
  if (s.started > 0 && (!s.settled || done != state::stands))
    to.push_back({s.settled ? done : state::unknown, b.peer, 0, s.started, b.at});
  if (s.started < s.all)
    to.push_back({left, b.peer, s.started, s.all - s.started, left == state::missing ? -1 : b.at + s.started});
}

void add_outgoing(const in_place_protocol& p, block_map& map) {
  for (const peer_block& b : p.out)
    if (const swapping s = swaps_with(p, b.peer); s.all > 0)
      add_swapped(map.outgoing, b, s, state::stands, state::stands);
  for (const segment& d : p.machine.segments()) {
    count_t at = d.at;
    // A compaction was chosen, and its peer did not release its fetched data.
    if (p.pending && p.pending->to <= at && at < p.pending->to + p.pending->length)
      at -= p.pending->to - p.pending->from;
    map.outgoing.push_back({state::stands, d.peer, d.offset, d.length, at});
  }
}

void add_staged(const in_place_protocol& p, const gap& g, int peer, block_map& map) {
  const auto unit = static_cast<std::size_t>(map.unit_bytes);
  const auto at = static_cast<count_t>(map.staged.size() / unit);
  map.incoming.push_back({state::staged, peer, g.offset, g.length, at});
  map.staged.resize(map.staged.size() + static_cast<std::size_t>(g.length) * unit);
  for (count_t k = 0; k < g.length; ++k) {  // each whole, also where it has parts in several arrays
    const unit_run from{p.machine.staged_at(g) + k, 1};
    p.units.gather(std::span(&from, 1), map.staged.data() + static_cast<std::size_t>(at + k) * unit);
  }
}

// The part of a block that no gap covers has arrived.
void add_incoming(const in_place_protocol& p, block_map& map) {
  const auto gaps = p.machine.gaps();
  std::size_t k = 0;
  for (const peer_block& b : p.in) {
    const swapping s = swaps_with(p, b.peer);
    if (s.all > 0) add_swapped(map.incoming, b, s, state::arrived, state::missing);
    count_t at = b.at + s.all;
    const count_t end = b.at + b.length;
    const auto arrived = [&](count_t to) {
      if (at < to) map.incoming.push_back({state::arrived, b.peer, at - b.at, to - at, at});
    };
    for (; k < gaps.size() && gaps[k].at < end; ++k) {
      const gap& g = gaps[k];
      arrived(g.at);
      if (g.state == gap_state::staged) {
        add_staged(p, g, b.peer, map);
      } else {
        map.incoming.push_back({state::missing, b.peer, g.offset, g.length, -1});
      }
      at = g.end();
    }
    arrived(end);
  }
}

}  // namespace

block_map map_of(in_place_protocol& p) {
  block_map map{.known = true, .unit_bytes = static_cast<count_t>(p.units.unit_bytes())};
  if (!p.started) {  // nothing has moved
    for (const peer_block& b : p.out) map.outgoing.push_back({state::stands, b.peer, 0, b.length, b.at});
    for (const peer_block& b : p.in) map.incoming.push_back({state::missing, b.peer, 0, b.length, -1});
    return map;
  }
  if (p.moving && p.units.try_move(*p.moving)) p.moving.reset();
  add_outgoing(p, map);
  add_incoming(p, map);
  if (p.moving) doubt(map, p.moving->to, p.moving->length);
  return map;
}

}  // namespace taquin::detail
