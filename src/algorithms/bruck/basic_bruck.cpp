// basic_bruck: log rounds, between a rotation before and a reflection after.
//
// Source:  Träff, Rougier, Hunold, §2 (Theorem 1) and §3.1; Bruck et al. 1997, for any radix r.
// Rounds:  ⌈log_r p⌉, of up to r − 1 messages each way.
// Bytes:   for r = 2 at most ⌈log₂ p⌉⌊p/2⌋ blocks; each block once for every digit of its distance that is not zero.
// Memory:  the blocks that one round receives, at least one; packed: what one round sends and receives.
// Limits:  blocks of one size, separate buffers, not alltoallw.
// Wins:    where datatypes are costly to create: one regular type per message. Otherwise modified_bruck does less.
//
// The receive buffer is the paper's R: place j of it is the receive block of rank j. The paper's step 3 copies all
// blocks to an intermediate buffer and back. It is a reflection, so here pairs of blocks are swapped through one spare
// block.
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "algorithms/bruck/bruck.hpp"
#include "base/sizes.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

using namespace bruck;

schedule_size size_of_basic_bruck(const fixed_places& b) noexcept {
  const auto p = as_size(b.ranks);
  schedule_size size = b.size();
  size.copies += p + 3 * (p / 2);
  size.rounds += 2;
  return size;
}

std::size_t scratch_blocks(const fixed_places& b) noexcept { return std::max<std::size_t>(b.scratch_blocks(), 1); }

std::size_t memory_of_basic_bruck(const shape& s, const options& o) noexcept {
  const fixed_places b(s.ranks, o);
  return b.memory(size_of_basic_bruck(b), scratch_blocks(b), s.max_block_bytes);
}

schedule build_basic_bruck(const local_exchange& x, const shape& shape, const options& o,
                           std::pmr::memory_resource* memory) {
  const int p = x.ranks;
  const fixed_places b(p, o);
  const auto bytes = static_cast<count_t>(shape.max_block_bytes);
  schedule s(memory, size_of_basic_bruck(b));
  s.synchronizes = shape.max_block_bytes > 0;
  s.add_types(x);
  const std::uint32_t intermediate = add_intermediate_type(s, x);
  s.scratch_bytes = scratch_blocks(b) * shape.max_block_bytes;

  for (int j = 0; j < p; ++j) add_joined_copy(s, 0, s.send_block(x, (x.rank + j) % p), s.recv_block(x, j));
  s.end_round();
  b.add_rounds(s, x, intermediate, bytes, 0, 1);
  const region spare = intermediate_block(s, intermediate, bytes, 0);
  for (int j = 0; j < p; ++j) {
    const int k = (x.rank - j + p) % p;
    if (k <= j) continue;
    s.add_copy(s.recv_block(x, j), spare);
    s.add_copy(s.recv_block(x, k), s.recv_block(x, j));
    s.add_copy(spare, s.recv_block(x, k));
  }
  s.end_round();
  return s;
}

}  // namespace

const algorithm basic_bruck = bruck::regular<2>({
    .name = "basic_bruck",
    .summary = "log rounds, with a rotation before and a reflection after",
    .source = "Träff et al. §2, §3.1",
    .memory = memory_of_basic_bruck,
    .build = build_basic_bruck,
});

}  // namespace taquin::detail
