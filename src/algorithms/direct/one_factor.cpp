// one_factor: in each round every rank exchanges with one partner, for any number of ranks.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §2: partner (i − rank) mod p in round i; for even p the
//          variant that has all self-loops in one factor, which is a local copy.
// Rounds:  p − 1 for even p, p for odd p (in one of which a rank only copies).
// Bytes:   each block once.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    large blocks where links carry both directions at once and suffer from many messages: unlike pairwise, it
//          sends to and receives from the same rank in every round for any p.
#include "algorithms/algorithm.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"
#include "topology/one_factors.hpp"

namespace taquin::detail {

namespace {

bool supports(const shape& s) noexcept { return !s.inter && !s.in_place; }

schedule_size size_of(const shape& s) noexcept {
  const auto p = static_cast<std::size_t>(s.ranks);
  return {s.kind == exchange::form::alltoallw ? 2 * p : 2, 2 * p, 2 * p, 1, p};
}

std::size_t memory(const shape& s, const options&) noexcept { return executor::footprint(size_of(s), 0); }

schedule build(const local_exchange& x, const shape& shape, const options&, std::pmr::memory_resource* memory) {
  schedule s(memory, size_of(shape));
  s.add_types(x);
  const region mine = s.send_block(x, x.rank);
  if (x.ranks % 2 == 0) s.add_copy(mine, s.recv_block(x, x.rank));  // travels with the first round
  for (int i = 0; i < factors(x.ranks); ++i) {
    const int with = partner(x.ranks, i, x.rank);
    if (with == x.rank) {
      s.add_copy(mine, s.recv_block(x, x.rank));
    } else {
      s.recv(with, s.recv_block(x, with));
      s.send(with, s.send_block(x, with));
    }
    s.end_round();
  }
  return s;
}

seconds cost(const shape& s, const options&, const machine_model& m) noexcept { return terms(s, m).one_by_one(); }

}  // namespace

const algorithm one_factor{
    .name = "one_factor",
    .summary = "one partner at a time, to and from the same rank, for any p",
    .source = "Sanders & Träff §2",
    .rounds = "p − 1, odd p: p",
    .serves_inside = true,
    .supports = supports,
    .memory = memory,
    .cost = cost,
    .build = build,
};

}  // namespace taquin::detail
