// The phases of Pinar and Hendrickson, with and without parking.
#pragma once

#include "redistribute/machine.hpp"

namespace taquin::detail {

/// Phases until every block is on its rank, or until they make no more progress. In a phase ranks sort their blocks,
/// request to send, grant the blocks that fit into their free space in order of rank (first fit), and with `park` give
/// blocks that stand in the way to ranks with space left, as rank 0 matches them.
task run_phases(machine& m, bool park);
/// Bytes of their arrays.
std::size_t phases_bytes(const table_sizes& s, bool park) noexcept;
/// Their predicted time.
seconds phases_cost(const redistribution_load& l, const machine_model& m, bool park) noexcept;

}  // namespace taquin::detail
