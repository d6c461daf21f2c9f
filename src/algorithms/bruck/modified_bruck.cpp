// modified_bruck: log rounds that leave every block in its place; only a reflection before.
//
// Source:  Träff, Rougier, Hunold, §2 (Theorem 2) and §3.2, for any radix r.
// Rounds:  ⌈log_r p⌉, of up to r − 1 messages each way.
// Bytes:   as basic_bruck.
// Memory:  the blocks that one round receives; packed: what one round sends and receives.
// Limits:  blocks of one size, separate buffers, not alltoallw.
// Wins:    where zero_copy_bruck's structured types cost more than one copy of the blocks.
//
// The receive buffer is the paper's R: place i + j (mod p) of rank i is its receive block of rank i + j.
#include "algorithms/algorithm.hpp"
#include "algorithms/bruck/bruck.hpp"
#include "base/sizes.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

using namespace bruck;

schedule_size size_of_modified_bruck(const fixed_places& b) noexcept {
  schedule_size size = b.size();
  size.copies += as_size(b.ranks);
  size.rounds += 1;
  return size;
}

std::size_t memory_of_modified_bruck(const shape& s, const options& o) noexcept {
  const fixed_places b(s.ranks, o);
  return b.memory(size_of_modified_bruck(b), b.scratch_blocks(), s.max_block_bytes);
}

schedule build_modified_bruck(const local_exchange& x, const shape& shape, const options& o,
                              std::pmr::memory_resource* memory) {
  const int p = x.ranks;
  const fixed_places b(p, o);
  schedule s(memory, size_of_modified_bruck(b));
  s.synchronizes = shape.max_block_bytes > 0;
  s.add_types(x);
  const std::uint32_t intermediate = add_intermediate_type(s, x);
  s.scratch_bytes = b.scratch_blocks() * shape.max_block_bytes;
  for (int j = 0; j < p; ++j)
    add_joined_copy(s, 0, s.send_block(x, (x.rank - j + p) % p), s.recv_block(x, (x.rank + j) % p));
  s.end_round();
  b.add_rounds(s, x, intermediate, static_cast<count_t>(shape.max_block_bytes), x.rank, -1);
  return s;
}

}  // namespace

const algorithm modified_bruck = bruck::regular<1>({
    .name = "modified_bruck",
    .summary = "log rounds that leave every block in its place, with a reflection before",
    .source = "Träff et al. §2, §3.2",
    .memory = memory_of_modified_bruck,
    .build = build_modified_bruck,
});

}  // namespace taquin::detail
