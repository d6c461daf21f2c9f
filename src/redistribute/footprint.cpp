#include "redistribute/footprint.hpp"

#include <algorithm>

#include "base/in_flight.hpp"
#include "base/sizes.hpp"
#include "protocol/mpi_port.hpp"
#include "redistribute/check_map.hpp"
#include "redistribute/sparse_targets.hpp"

namespace taquin::detail {

namespace {
constexpr std::size_t chunk_bytes =
    std::size_t{160} * 1024;  // a message; small enough that what is copied stays in cache
constexpr slot most_scattered = 128;
constexpr std::uint32_t most_read = 64;
constexpr std::size_t frames = 6144;  // coroutines
}  // namespace

buffer_sizes redistribution_sizes(std::size_t block_bytes, std::size_t least_blocks, slot most_chunk) noexcept {
  const std::size_t l = std::max<std::size_t>(block_bytes, 1);
  const std::size_t m = least_blocks;
  const std::size_t bytes = std::min(chunk_bytes, 10 * l + 2 * m);
  buffer_sizes s;
  s.chunk = static_cast<slot>(std::clamp<std::size_t>(bytes / l, 1, 10 + m / 32));
  s.chunk = std::min(s.chunk, most_chunk);
  // The smaller the blocks, the longer it takes to request a buffer full of them. More buffers then keep the other
  // ranks busy.
  const auto more = static_cast<slot>(std::min<std::size_t>(std::min(4 * m / l, m / 8) / s.chunk, 18));
  s.receive_buffers = 6 + more;
  s.scatter_buffers = 2 + more / 2;
  s.send_buffers = 2;
  s.scattered = std::min<slot>(s.chunk, most_scattered);
  s.words = static_cast<std::uint32_t>(std::clamp<std::size_t>(m / 64, 16, 2048));
  s.read = std::max<slot>(s.chunk, std::min<std::uint32_t>(s.words, most_read));
  s.requests = s.per_peer = 16;
  return s;
}

buffer_sizes bounded(buffer_sizes s, int in_flight, int ranks) noexcept {
  const auto most = static_cast<std::uint32_t>(in_flight_bound(in_flight));
  const auto peers = static_cast<std::uint32_t>(std::max(ranks - 1, 1));
  s.requests = std::min(s.requests, most);
  s.per_peer = std::clamp(most / peers, 1U, s.requests);
  s.gated = peers > most;
  return s;
}

port_limits redistribution_limits(const buffer_sizes& s, int ranks) noexcept {
  return {.chunk = s.chunk,
          .send_buffers = s.send_buffers,
          .scattered = s.scattered,
          .words = s.words,
          .messages = s.requests,
          .transfers = 3 * static_cast<std::uint32_t>(ranks) + 2 * s.requests,
          .reserved = s.requests};
}

namespace {

// Where more blocks come than there are places, one more than these is received to find the clash.
table_sizes most_tables(const buffer_sizes& s, int ranks, std::size_t blocks) noexcept {
  return {.ranks = as_size(ranks), .blocks = blocks, .outgoing = blocks + 1, .incoming = blocks + 1, .buffers = s};
}

// What is taken for a while, one at a time: learning the targets, checking them, the algorithm and those that it hands
// over to, the permutation. The sources that the first algorithm has learnt are kept beside the targets that its
// successors learn.
std::size_t for_a_while(const redistribution_algorithm& a, const table_sizes& t) noexcept {
  const std::size_t kept = a.hands_over ? t.blocks * sizeof(std::int32_t) : 0;
  return kept + std::max({exchange_targets_bytes(t), target_exchange::bytes(t), check_injective_bytes(t), a.memory(t),
                          find_redistribution("parking")->memory(t), find_redistribution("slots")->memory(t),
                          block_map::sort_bytes(t.slots(), t.ranks)});
}

}  // namespace

std::size_t redistribution_footprint(const redistribution_algorithm& a, const buffer_sizes& s, int ranks,
                                     std::size_t blocks, std::size_t block_bytes) noexcept {
  const table_sizes t = most_tables(s, ranks, blocks);
  return s.staging_slots() * block_bytes + block_map::bytes(t.slots()) + array_list::bytes<targets>(t) +
         for_a_while(a, t) + frames + sizeof(count_t) * t.ranks +
         mpi_port::footprint(redistribution_limits(s, ranks), block_bytes) + mpi_port::reduction_bytes(ranks);
}

std::size_t free_for_targets(const redistribution_algorithm& a, const buffer_sizes& s, int ranks,
                             std::size_t blocks) noexcept {
  const table_sizes t = most_tables(s, ranks, blocks);
  return for_a_while(a, t) - target_exchange::bytes(t) + mpi_port::reduction_bytes(ranks);
}

}  // namespace taquin::detail
