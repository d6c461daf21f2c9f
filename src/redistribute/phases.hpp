// The phases of Pinar and Hendrickson, with and without parking.
#pragma once

#include "redistribute/machine.hpp"

namespace taquin::detail {

/// Phases until every block is on its rank, or until they no longer get on. In a phase ranks sort their blocks, ask to
/// send, grant what fits into their free space in order of rank (first fit), and with `park` give blocks that stand in
/// the way to ranks with space left, as rank 0 matches them. Takes 8 bytes per block at most and 40 per rank.
task run_phases(machine& m, bool park);

}  // namespace taquin::detail
