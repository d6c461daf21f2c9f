// one_factor: in each round every rank exchanges with one partner, for any number of ranks.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §2: partner (i − rank) mod p in round i; for even p the
//          variant that has all self-loops in one factor, which is a local copy.
// Rounds:  p − 1 for even p, p for odd p (in one of which a rank only copies).
// Bytes:   each block once.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    large blocks where links are full-duplex and suffer from many messages: unlike pairwise, it
//          sends to and receives from the same rank in every round for any p.
#include "algorithms/algorithm.hpp"
#include "algorithms/direct/one_by_one.hpp"
#include "topology/one_factors.hpp"

namespace taquin::detail {

namespace {

schedule build_one_factor(const local_exchange& x, const shape& shape, const options&,
                          std::pmr::memory_resource* memory) {
  schedule s(memory, one_by_one::size(shape));
  s.ahead = true;
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

}  // namespace

const algorithm one_factor{
    .name = "one_factor",
    .summary = "one partner at a time, to and from the same rank, for any p",
    .source = "Sanders & Träff §2",
    .rounds = "p − 1, odd p: p",
    .serves_inside = true,
    .memory = one_by_one::memory,
    .cost = one_by_one::cost,
    .build = build_one_factor,
};

}  // namespace taquin::detail
