// Hand-written sparse exchanges of programs on the MPI library, as harness/sparse_methods.cpp has them.
#include "simulation/sparse_drawing.hpp"

namespace taquin::detail {

namespace {

constexpr int least_for_bruck = 16;  // ranks; fewer exchange their counts in one round

void send_blocks(sparse_drawing& d) {
  d.each_block([&](int from, const sparse_block& b) { d.send(from, b.to, b.bytes, {{from, b.to}}); });
  d.own();
}

void exchange_counts(sparse_drawing& d) {
  const int p = d.ranks();
  constexpr count_t of_count = 4;
  if (p < least_for_bruck) {
    for (int from = 0; from < p; ++from)
      for (int k = 1; k < p; ++k) d.send(from, (from + k) % p, of_count);
    return d.next();
  }
  for (int w = 1; w < p; w *= 2) {
    const count_t blocks = p / (2 * w) * w + std::max(p % (2 * w) - w, 0);  // whose number has this bit
    for (int rank = 0; rank < p; ++rank) d.send(rank, (rank + w) % p, of_count * blocks);
    d.next();
  }
}

}  // namespace

void add_nbx_moves(const sparse_pattern& x, sparse_moves& to) {
  sparse_drawing d(x, to);
  send_blocks(d);
  d.next_when_taken();
  d.disseminate(1, 2);
}

void add_counts_reduced_moves(const sparse_pattern& x, sparse_moves& to) {
  sparse_drawing d(x, to);
  d.reduce_counts();
  d.stage(sparse_moves::move);
  send_blocks(d);
}

void add_counts_exchanged_moves(const sparse_pattern& x, sparse_moves& to) {
  sparse_drawing d(x, to);
  exchange_counts(d);
  d.stage(sparse_moves::move);
  // A message goes between any two ranks, those without data for each other included.
  for (int from = 0; from < x.ranks(); ++from) {
    const auto& mine = x.blocks[as_size(from)];
    auto next = mine.begin();
    for (int to_rank = 0; to_rank < x.ranks(); ++to_rank) {
      const bool has = next != mine.end() && next->to == to_rank;
      const count_t bytes = has ? (next++)->bytes : 0;
      if (to_rank == from) continue;
      d.send(from, to_rank, bytes, has ? whole_moves::block_list{{from, to_rank}} : whole_moves::block_list{});
    }
  }
  d.own();
}

}  // namespace taquin::detail
