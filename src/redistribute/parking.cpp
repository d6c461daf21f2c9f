// parking: phases, with blocks that stand in the way parked on ranks with space.
//
// Source:  Siegel & Siegel, section 2.1, after Pinar and Hendrickson. A root matches in each phase ranks that must
//          park with ranks that have space, first fit. If there is no free block at all one rank uses an extra one.
// Rounds:  one per phase; as many as there are blocks when one block is free.
// Bytes:   parked blocks more than once; copies: a sort in every phase, which makes it slow with little space.
// Memory:  4 bytes per block, 76 per rank beside what all algorithms take; the arrays in phases.cpp.
// Limits:  none; should no block reach its rank for as many phases as there are ranks, `slots` continues.
// Wins:    global transposes with free space, among the paper's algorithms.
// Kept:    to compare the papers' algorithms with `slots`, the default, which does all that it does.
#include "redistribute/phases.hpp"

namespace taquin::detail {

namespace {
std::size_t bytes_of_parking(const table_sizes& s) noexcept { return phases_bytes(s, true); }
task run_parking(machine& m) { return run_phases(m, true); }
seconds cost_of_parking(const redistribution_load& l, const machine_model& m) noexcept {
  return phases_cost(l, m, true);
}
}  // namespace

const redistribution_algorithm parking_redistribution{
    .name = "parking",
    .summary = "the same with blocks parked on ranks that have space, as a root matches them",
    .source = "Siegel & Siegel 2.1 (Pinar & Hendrickson)",
    .rounds = "phases, about blocks / free blocks",
    .memory = bytes_of_parking,
    .run = run_parking,
    .hands_over = true,
    .cost = cost_of_parking,
};

}  // namespace taquin::detail
