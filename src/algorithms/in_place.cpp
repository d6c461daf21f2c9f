// in_place: any counts and displacements in one buffer, each rank asking for what it can place.
//
// Source:  new; from Hofmann & Rünger (index sets, compaction) and the sliding puzzle: data go straight to their place
//          as soon as it is free, and leave a free place behind.
// Rounds:  not fixed: a rank asks anew whenever something has become free.
// Bytes:   each block once, in chunks, with a request of 16 bytes for each chunk.
// Memory:  bookkeeping linear in the blocks with data of the rank that has the most, and at least one element.
// Limits:  one type, of the same size on all ranks.
// Wins:    wherever there is one buffer only.
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "in_place/grant_driver.hpp"
#include "model/terms.hpp"

namespace taquin::detail {

namespace {

bool supports(const shape& s) noexcept { return !s.inter && s.in_place && (s.one_unit || s.max_rank_bytes == 0); }

std::size_t memory(const shape& s, const options&) noexcept { return grant_driver::least(s); }

// A request before each chunk, whose way it does not share; and about half of the data waits in auxiliary memory.
seconds cost(const shape& s, const options&, const machine_model& m) noexcept {
  constexpr double chunk = 256 << 10;
  const terms t(s, m);
  const double messages = std::min(t.ranks() - 1, static_cast<double>(s.max_peers)) + t.busiest() / chunk;
  return t.round(messages, 16 * messages, 16) + t.round(messages, t.busiest(), std::min(t.largest_block(), chunk)) +
         t.copies(messages, t.busiest() / 2);
}

body_ptr prepare(const exchange& x, const context& c, memory_budget& budget) {
  return make_body<grant_driver>(budget, x, c, in_place_allowance(c, memory(*c.shape, *c.opts)), &budget);
}

}  // namespace

const algorithm in_place{
    .name = "in_place",
    .summary = "one buffer, any counts: each rank asks for what it can place, chunk by chunk",
    .source = "ours",
    .rounds = "as places become free",
    .supports = supports,
    .memory = memory,
    .cost = cost,
    .prepare = prepare,
};

}  // namespace taquin::detail
