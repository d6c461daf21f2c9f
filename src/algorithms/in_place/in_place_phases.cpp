// in_place_phases: any counts and displacements in one buffer, in phases of requests, data and update.
//
// Source:  Hofmann & Rünger, An In-place Algorithm for Irregular All-to-All Communication with Limited Memory, §3.
// Rounds:  not fixed: the more, the less memory there is.
// Bytes:   each block once; in each phase a request of 32 bytes to each rank that still has data for this one, or,
//          without `sparse_requests`, to every rank, in log p rounds.
// Memory:  bookkeeping linear in the blocks with data of the rank that has the most (without `sparse_requests`: in p),
//          and at least one element for each part of the auxiliary memory.
// Limits:  one type, of the same size on all ranks.
// Wins:    as the measure of what in_place gains.
#include <algorithm>
#include <cmath>

#include "algorithms/algorithm.hpp"
#include "algorithms/in_place/in_place_phases_operation.hpp"
#include "algorithms/in_place/units.hpp"
#include "model/terms.hpp"

namespace taquin::detail {

namespace {

bool in_place_phases_supports(const shape& s) noexcept {
  return !s.inter && s.in_place && (s.one_unit || s.max_rank_bytes == 0);
}

std::size_t memory_of_in_place_phases(const shape& s, const options& o) noexcept {
  return in_place_phases_operation::least(s, o);
}

std::size_t usual_memory_of_in_place_phases(const shape& s, const options& o) noexcept {
  return in_place_allowance(s, unlimited, memory_of_in_place_phases(s, o));
}

// The number of phases depends on the displacements, which a shape does not have. Measured: two thirds of the number if
// all data went through the auxiliary memory. Each phase has a round of requests; each byte is moved once inside its
// rank, and a phase visits each block some four times.
seconds cost_of_in_place_phases(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  const auto aux = static_cast<double>(in_place_allowance(s, s.memory_limit, in_place_phases_operation::least(s, o)));
  const double phases = std::max(1.0, std::ceil(t.busiest() / aux * 2 / 3));
  const double peers = t.ranks() - 1;
  const seconds requests = o.in_place_phases.sparse_requests ? t.round(peers, 32 * peers, 32)
                                                             : in_place_phases_operation::dense_cost(s.ranks, m);
  return phases * requests + t.rounds(phases, peers, t.busiest() / phases, t.largest_block() / phases) +
         t.copies(4 * phases * t.ranks(), t.busiest());
}

operation_ptr prepare_in_place_phases(const exchange& x, const context& c, memory_budget& budget) {
  return make_operation<in_place_phases_operation>(
      budget, x, c, in_place_allowance(*c.shape, c.memory, memory_of_in_place_phases(*c.shape, *c.opts)), budget);
}

}  // namespace

const algorithm in_place_phases{
    .name = "in_place_phases",
    .summary = "one buffer, any counts: phases of requests, data, and compaction",
    .source = "Hofmann & Rünger §3",
    .rounds = "as many phases as the memory needs",
    .supports = in_place_phases_supports,
    .memory = memory_of_in_place_phases,
    .usual_memory = usual_memory_of_in_place_phases,
    .cost = cost_of_in_place_phases,
    .prepare = prepare_in_place_phases,
};

}  // namespace taquin::detail
