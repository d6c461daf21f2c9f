#include "algorithms/nodes/shared_memory.hpp"

#include <utility>

#include "algorithms/nodes/shared_exchange.hpp"
#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

// Drawn for a kernel that permits single copy: first the writes into the room, then the receivers' reads.
std::size_t moves_of_shared_memory(const whole_exchange& x, const shape& s, const options&, const moves_target& to) {
  const std::size_t space = payload_allowed(s, false);
  const int p = x.ranks();
  to.all.through_memory = true;
  to.all.note = "Drawn as where the kernel lets ranks read each other's memory: large blocks are fetched immediately.";
  for (int rank = 0; rank < p; ++rank) {
    const int me = to.members[as_size(rank)];
    count_t written = 0;
    std::size_t used = 0;
    for (int k = 1; k < p; ++k) {
      const int peer = (rank + k) % p;
      const count_t bytes = x.bytes(rank, peer);
      const bool small = bytes <= static_cast<count_t>(mailbox::capacity);
      if (small || (bytes <= shared_exchange::most_in_payload && shared_exchange::take_payload(bytes, space, used)))
        written += bytes;
      whole_moves::block_list blocks;
      if (x.traced)
        for (const origin& o : x.origins(rank, peer, 0, bytes)) blocks.emplace_back(o.from, o.to);
      to.all.send(to.first + 1, {me, to.members[as_size(peer)], bytes, std::move(blocks)});
    }
    to.all.copy(to.first, {me, written, place::send, place::shared});
    to.all.copy(to.first + 1, {me, x.bytes(rank, rank), place::send, place::recv});
  }
  return to.first + 2;
}

}  // namespace taquin::detail
