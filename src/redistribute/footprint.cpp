#include "redistribute/footprint.hpp"

#include <algorithm>

#include "protocol/mpi_port.hpp"
#include "redistribute/slots.hpp"

namespace taquin::detail {

namespace {
constexpr std::size_t chunk_bytes =
    std::size_t{160} * 1024;  // a message; small enough that what is copied stays in cache
constexpr slot most_scattered = 128;
constexpr std::size_t frames = 6144;  // coroutines
}  // namespace

buffer_sizes redistribution_sizes(std::size_t block_bytes, std::size_t least_blocks, slot most_chunk) noexcept {
  const std::size_t l = std::max<std::size_t>(block_bytes, 1);
  const std::size_t m = least_blocks;
  const std::size_t bytes = std::min(chunk_bytes, 10 * l + 2 * m);
  buffer_sizes s;
  s.chunk = static_cast<slot>(std::clamp<std::size_t>(bytes / l, 1, 10 + m / 32));
  s.chunk = std::min(s.chunk, most_chunk);
  // The smaller the blocks, the longer it takes to ask for a buffer full of them: then more buffers keep others busy.
  const auto more = static_cast<slot>(std::min<std::size_t>(std::min(4 * m / l, m / 8) / s.chunk, 18));
  s.receive_buffers = 6 + more;
  s.scatter_buffers = 2 + more / 2;
  s.send_buffers = 2;
  s.scattered = std::min<slot>(s.chunk, most_scattered);
  s.words = static_cast<std::uint32_t>(std::clamp<std::size_t>(m / 64, 16, 2048));
  s.requests = 16;
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

slot staging_slots(const buffer_sizes& s) noexcept { return s.receive_buffers * s.chunk + 1; }

std::size_t redistribution_footprint(const redistribution_algorithm& a, const buffer_sizes& s, int ranks,
                                     std::size_t blocks, std::size_t block_bytes) noexcept {
  const auto p = static_cast<std::size_t>(ranks);
  const std::size_t staging = staging_slots(s);
  const std::size_t map = sizeof(address) * (blocks + staging);
  const std::size_t known = 2 * sizeof(word) * (p + 1) + 2 * sizeof(word) * (blocks + 1);
  // One at a time: learning the targets, the algorithm, moving blocks inside the rank (also beside a schedule).
  const std::size_t learning = sizeof(word) * blocks + sizeof(word) * p + (blocks + 7) / 8 + sizeof(std::size_t);
  const auto own = [&](const redistribution_algorithm& x) { return x.per_block * blocks + x.per_rank * p; };
  const std::size_t work =
      std::max({learning, own(a), own(*find_redistribution("parking")), own(*find_redistribution("slots"))}) +
      16 * staging + sizeof(unit_run) * (s.requests + s.chunk) + sizeof(word) * (s.words + s.chunk);
  const std::size_t moving = block_map::sort_bytes(blocks + staging, ranks);
  return staging * block_bytes + map + known + work + moving + frames + sizeof(count_t) * p +
         mpi_port::footprint(redistribution_limits(s, ranks), block_bytes) + mpi_port::reduction_bytes(ranks);
}

}  // namespace taquin::detail
