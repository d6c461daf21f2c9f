// The time of schedules under a machine model: all ranks, message by message.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"

namespace taquin::detail {

/// When each rank ends, in seconds from the common start, if it runs its schedule as the executor does: it posts the
/// round's messages, or as many as may be in flight, or the first stage of each lane; copies while they travel; and
/// posts further ones as messages complete, in the order of completion. A round that waits for the node's ranks begins
/// when the last of them has arrived. A message takes the sender's processor, then one of the sender's ports, travels,
/// takes one of the receiver's ports (the first byte may overlap the sender's last), then the receiver's processor.
/// `level(a, b)` says whether two ranks are on one node (0) or not (1). O(m log m) for m messages. Throws
/// simulated_error on a deadlock.
std::vector<seconds> evaluate(std::span<const schedule* const> ranks, const machine_model& model,
                              const std::function<int(int, int)>& level);

/// The same for the slowest rank.
seconds evaluate_slowest(std::span<const schedule* const> ranks, const machine_model& model,
                         const std::function<int(int, int)>& level);

}  // namespace taquin::detail
