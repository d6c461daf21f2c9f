// The whole data after an aborted exchange by in_place_phases.
#include "algorithms/in_place/in_place_phases_protocol.hpp"
#include "call/failure_map.hpp"

namespace taquin::detail {

failure::block_map in_place_phases_protocol::map() {
  using failure::state;
  const auto unit = static_cast<count_t>(units_.unit_bytes());
  failure::block_map map{.known = true, .unit_bytes = unit};
  if (!started_) {  // nothing has moved
    for (const peer_block& b : out_) map.outgoing.push_back({state::stands, b.peer, 0, b.length, b.at});
    for (const peer_block& b : in_) map.incoming.push_back({state::missing, b.peer, 0, b.length, -1});
    return map;
  }
  if (moving_ && units_.try_move(*moving_)) moving_.reset();
  for (const segment& p : machine_.segments())  // granted ones too: no data use their place before the phase ends
    append(map.outgoing, {state::stands, p.peer, p.offset, p.length, p.at});
  for (std::size_t k = 0; k < in_.size(); ++k)
    machine_.for_each_part(k, [&](count_t at, count_t length, count_t where) {
      const count_t offset = at - in_[k].at;
      if (where == at) return append(map.incoming, {state::arrived, in_[k].peer, offset, length, at});
      if (where < 0) return append(map.incoming, {state::missing, in_[k].peer, offset, length, -1});
      const auto begin = static_cast<count_t>(map.staged.size()) / unit;
      map.staged.resize(as_size((begin + length) * unit));
      const unit_run from{where, length};
      units_.read(std::span(&from, 1), map.staged.data() + begin * unit);
      append(map.incoming, {state::staged, in_[k].peer, offset, length, begin});
    });
  if (moving_) doubt(map, moving_->to, moving_->length);
  return map;
}

}  // namespace taquin::detail
