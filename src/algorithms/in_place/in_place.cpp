// in_place: any counts and displacements in one buffer; each rank requests the data that it can place.
//
// Source:  new; from Hofmann & Rünger (index sets, compaction) and the sliding puzzle: data go straight to their place
//          as soon as it is free, and leave a free place behind.
// Rounds:  not fixed: a rank sends requests again whenever a location has become free.
// Bytes:   each block once, in chunks, with a request of 24 bytes for each chunk; from ranks of its node a receiver
//          fetches chunks without a request, and two of them swap data that are in each other's places.
// Memory:  bookkeeping linear in the blocks with data of the rank that has the most, and at least one element.
// Limits:  one type, of the same size on all ranks.
// Wins:    wherever there is one buffer only.
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_operation.hpp"
#include "algorithms/in_place/units.hpp"
#include "model/terms.hpp"

namespace taquin::detail {

namespace {

bool in_place_supports(const shape& s) noexcept {
  return !s.inter && s.in_place && (s.one_unit || s.max_rank_bytes == 0);
}

std::size_t memory_of_in_place(const shape& s, const options&) noexcept { return in_place_operation::least(s); }

std::size_t usual_memory_of_in_place(const shape& s, const options& o) noexcept {
  return in_place_allowance(s, unlimited, memory_of_in_place(s, o));
}

// Measured: chunks are a quarter of the auxiliary memory if data pass through it, and a third of the data do. It
// polls while it waits, at the cost of the ranks that share its core. Ranks of one node fetch chunks, each in its
// turn.
seconds cost_of_in_place(const shape& s, const options&, const machine_model& m) noexcept {
  constexpr double largest_chunk = 256 << 10;
  constexpr seconds idle_threshold = 1e-6;
  const terms t(s, m);
  const auto aux = static_cast<double>(in_place_allowance(s, s.memory_limit, in_place_operation::least(s)));
  const double peers = std::min(t.ranks() - 1, static_cast<double>(s.max_peers));
  if (s.shared && s.unit_span == 0) {
    const double turns = peers + t.busiest() / std::max(std::min(2 * largest_chunk, aux), 1.0);
    return t.through_memory() + turns * m.wait + t.copies(turns, t.busiest() / 3);
  }
  const double chunk = std::max(std::min(largest_chunk, aux / 2), 1.0);
  const double messages = peers + t.busiest() / chunk;
  const double share = m.ranks_per_core > 1 ? 2 : 1;
  return share * (t.rounds(messages, 1, 24, 24) + t.round(messages, t.busiest(), std::min(t.largest_block(), chunk))) +
         t.copies(messages, t.busiest() / 3) + (s.uniform || peers == 0 ? 0 : idle_threshold);
}

operation_ptr prepare_in_place(const exchange& x, const context& c, memory_budget& budget) {
  const std::size_t allowed = in_place_allowance(*c.shape, c.memory, memory_of_in_place(*c.shape, *c.opts));
  return make_operation<in_place_operation>(budget, x, c, allowed, budget);
}

}  // namespace

const algorithm in_place{
    .name = "in_place",
    .summary = "one buffer, any counts: each rank requests what it can place, chunk by chunk",
    .source = "ours",
    .rounds = "as places become free",
    .supports = in_place_supports,
    .memory = memory_of_in_place,
    .usual_memory = usual_memory_of_in_place,
    .cost = cost_of_in_place,
    .prepare = prepare_in_place,
};

}  // namespace taquin::detail
