// pairwise: one partner at a time.
//
// Source:  Communication Patterns and MPI Primitives, §3 (hypercubic and ring permutations) and §4.7.
// Rounds:  p − 1: partner rank xor i where p is a power of two, otherwise to rank+i and from rank−i.
// Bytes:   each block once.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    large blocks on networks that suffer from many concurrent messages.
#include <bit>

#include "algorithms/algorithm.hpp"
#include "algorithms/direct/one_by_one.hpp"

namespace taquin::detail {

namespace {

schedule build_pairwise(const local_exchange& x, const shape& shape, const options&,
                        std::pmr::memory_resource* memory) {
  schedule s(memory, one_by_one::size(shape));
  s.ahead = true;
  s.add_types(x);
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(x.ranks));
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));  // travels with the first round
  for (int i = 1; i < x.ranks; ++i) {
    const int to = power_of_two ? x.rank ^ i : (x.rank + i) % x.ranks;
    const int from = power_of_two ? to : (x.rank - i + x.ranks) % x.ranks;
    s.recv(from, s.recv_block(x, from));
    s.send(to, s.send_block(x, to));
    s.end_round();
  }
  s.end_round();
  return s;
}

}  // namespace

const algorithm pairwise{
    .name = "pairwise",
    .summary = "one partner at a time: xor for powers of two, shift otherwise",
    .source = "MPI primitives §3, §4.7",
    .rounds = "p − 1",
    .serves_inside = true,
    .memory = one_by_one::memory,
    .cost = one_by_one::cost,
    .build = build_pairwise,
};

}  // namespace taquin::detail
