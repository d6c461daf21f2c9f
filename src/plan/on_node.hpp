// The step of a blocking exchange whose ranks are all on one node (route/route.hpp).
#pragma once

#include <exception>

#include "node/channel.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The result of a step.
struct step_result {
  /// Null: the exchange is done. Otherwise why it continues as a plan, with nothing delivered; on all ranks, though for
  /// different reasons.
  const char* continues_because = nullptr;
  /// An error on this rank in an exchange that is done. The rank has taken part to the end, so that none waits for it.
  std::exception_ptr error_at_end{};
  /// This rank has brought its blocks, or would have, had it read the profile already.
  bool fits = false;
};

/// Runs the exchange in one step through the memory of the node: every rank's mailboxes hold its header and small
/// blocks, or the addresses of large ones. A rank whose blocks cannot be transferred in this way, whose arguments are
/// invalid or whose options request something else brings a header without blocks to the same step (agree() publishes
/// it). Then all ranks continue as a plan, which agrees in full. Collective.
step_result run_step_on_node(const exchange& x, const options& o, channel& node);

}  // namespace taquin::detail
