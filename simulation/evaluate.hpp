// The time of schedules under a machine model: all ranks, message by message.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// So many bytes of a rank, wherever they begin.
[[nodiscard]] inline region bytes_at(count_t n, place where = place::scratch) noexcept {
  return {.count = n, .where = where};
}

/// A message as the ports see it: from when to when the sender's passes it, and then the receiver's.
struct transfer {
  int from = 0;
  int to = 0;
  count_t bytes = 0;
  std::array<seconds, 2> out{};
  std::array<seconds, 2> in{};
};

/// When each rank ends, in seconds from the common start, if it runs its schedule as the executor does: it posts the
/// round's messages, or as many as may be in flight, or the first stage of each lane; copies while they travel; and
/// posts further ones as messages complete, in the order of completion. A round that waits for the node's ranks begins
/// when the last of them has arrived. `node_of` has each rank's node; empty: all are on one.
///
/// The network: a message occupies the sender's core, then a port of the sender, the network, a port of the receiver
/// (the first byte may overlap the sender's last), then the receiver's core. Within a node each rank has `model.ports`
/// ports each way; between nodes each node has as many each way, which its ranks share. A port that has started to pass
/// a message is free for the next one after the message's gap. The closed formulas assume the same.
///
/// O(m log m) for m messages. Throws simulated_error on a deadlock.
/// `seen` is called with every message, by the time of its first byte's arrival.
std::vector<seconds> evaluate(std::span<const schedule* const> ranks, const machine_model& model,
                              std::span<const int> node_of = {}, const std::function<void(const transfer&)>& seen = {});

/// The same for the slowest rank.
seconds evaluate_slowest(std::span<const schedule* const> ranks, const machine_model& model,
                         std::span<const int> node_of = {});

}  // namespace taquin::detail
