#include "redistribute/migration_map.hpp"

#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "call/failure_map.hpp"

namespace taquin::detail {

namespace {

using failure::part;
using failure::state;

// The whole items of a part; none: length 0. `offset` counts the units of a block, whose first is an item's first.
part whole_items(const part& p, count_t units) {
  const count_t first = (p.offset + units - 1) / units;
  const count_t end = (p.offset + p.length) / units;
  if (first >= end) return {p.what, p.peer, first, 0, -1};
  const count_t at = p.at < 0 ? -1 : p.at + first * units - p.offset;
  return {p.what, p.peer, first, end - first, at};
}

}  // namespace

failure::block_map map_of_items(const failure::block_map& of_units, std::size_t units, std::size_t bytes) {
  if (!of_units.known) return {};
  failure::block_map map{.known = true, .unit_bytes = static_cast<count_t>(bytes)};
  const auto n = static_cast<count_t>(units);
  const auto unit_bytes = bytes / units;
  const auto join = [](const std::vector<part>& parts) {  // where the exchange has cut units of one item
    std::vector<part> joined;
    for (const part& p : parts) append(joined, p);
    return joined;
  };
  for (const part& p : join(of_units.outgoing)) {
    part w = whole_items(p, n);
    if (w.length == 0) continue;
    if (w.at > 0) w.at /= n;
    append(map.outgoing, w);
  }
  count_t listed = 0;  // items of the block of `peer`
  int peer = -1;
  const auto missing = [&](count_t end) {
    if (listed < end) append(map.incoming, {state::missing, peer, listed, end - listed, -1});
    listed = end;
  };
  count_t block_end = 0;
  for (const part& p : join(of_units.incoming)) {
    if (p.peer != peer) {
      missing(block_end);
      peer = p.peer;
      listed = 0;
    }
    block_end = (p.offset + p.length + n - 1) / n;
    part w = whole_items(p, n);
    if (w.length == 0 || p.what == state::missing) continue;
    missing(w.offset);
    if (p.what == state::staged) {
      const std::byte* from = of_units.staged.data() + as_size(w.at) * unit_bytes;
      w.at = static_cast<count_t>(map.staged.size() / bytes);
      map.staged.insert(map.staged.end(), from, from + as_size(w.length) * bytes);
    } else if (w.at > 0) {
      w.at /= n;
    }
    append(map.incoming, w);
    listed = w.offset + w.length;
  }
  missing(block_end);
  return map;
}

}  // namespace taquin::detail
