// basic_phases: global phases, in each of which the blocks move that fit.
//
// Source:  Pinar and Hendrickson's basic algorithm as Siegel & Siegel describe it, section 2.1; BPH in Hofmann &
//          Rünger.
// Rounds:  one per phase; about blocks over free blocks, no bound in general.
// Bytes:   every block once, and a number per block; copies: a sort in every phase.
// Memory:  4 bytes per block, 48 per rank beside what all algorithms take; the arrays in phases.cpp.
// Limits:  cannot finish where ranks without free space wait for each other in a ring; a phase in which nothing moved
//          hands over to `parking`.
// Wins:    with much free space everywhere and few ranks.
// Kept:    to compare the papers' algorithms with `slots`, the default, which does all that it does.
#include "redistribute/phases.hpp"

namespace taquin::detail {

namespace {
std::size_t bytes_of_basic_phases(const table_sizes& s) noexcept { return phases_bytes(s, false); }
task run_basic_phases(machine& m) { return run_phases(m, false); }
seconds cost_of_basic_phases(const redistribution_load& l, const machine_model& m) noexcept {
  return phases_cost(l, m, false);
}
}  // namespace

const redistribution_algorithm basic_phases_redistribution{
    .name = "basic_phases",
    .summary = "phases of requests, first-fit grants and transfers; hands over to parking when stuck",
    .source = "Siegel & Siegel 2.1 (Pinar & Hendrickson)",
    .rounds = "phases, about blocks / free blocks",
    .memory = bytes_of_basic_phases,
    .run = run_basic_phases,
    .hands_over = true,
    .cost = cost_of_basic_phases,
};

}  // namespace taquin::detail
