// The short way of a blocking call whose ranks are all on one node.
#pragma once

#include <exception>

#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// The result of such a call.
struct node_call {
  bool served = false;
  /// One of the first calls on a communicator: the caller is to make it through the MPI library.
  bool left_to_caller = false;
  /// The memory of a freed communicator, by which the call was to be made, is not there on all ranks.
  bool spare_is_gone = false;
  /// An error on this rank. The rank has taken part to the end, so nobody waits for it. Null: none.
  std::exception_ptr error_at_end;
};

/// Runs the exchange through the node's memory where all ranks can, in one step: every rank's line holds what must be
/// agreed on and its small blocks. Not served, on all ranks alike and with nothing delivered, where any rank's call
/// asks for something else (an algorithm by name, a check, options, sizes or types that do not fit) or has an invalid
/// argument: plan_state then agrees in full. Collective. The first calls on a communicator go to the MPI library if all
/// ranks agree to that. With `unasked` they do so without agreement, and the caller makes the call; all ranks must then
/// have the same settings.
node_call run_on_node(const exchange& x, const options& o, bool unasked);

/// As taquin::run, for a caller that can also call the MPI library: false when it is to do so for this exchange.
bool run_or_leave(const exchange& x, const options& o);

}  // namespace taquin::detail
