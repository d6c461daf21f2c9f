#include "algorithms/in_place/in_place_limits.hpp"

#include <algorithm>

namespace taquin::detail {

namespace {

// Chunks, in bytes: large enough that a message's handshake does not count, small enough that what goes by way of
// auxiliary memory is still in the cache when it is copied.
constexpr std::size_t chunk_bytes = 256 << 10;
constexpr std::size_t aux_chunk_bytes = 128 << 10;
constexpr std::size_t page = 4096;
// Holes wait until they are as large as so many peers' shares of the auxiliary memory, at most: as free space is spread
// over the blocks of all peers, more peers have smaller holes.
constexpr std::size_t shares = 4;

}  // namespace

void in_place_limits::set_aux(count_t units, std::size_t bytes, std::size_t unit_bytes, int peers) noexcept {
  const auto in_units = [&](std::size_t n) { return static_cast<count_t>(std::max<std::size_t>(n / unit_bytes, 1)); };
  aux = units;
  chunk = in_units(chunk_bytes);
  const std::size_t half = std::min(aux_chunk_bytes, bytes / 2);
  aux_chunk = in_units(half < page ? half : half / page * page);
  const std::size_t share = shares * bytes / static_cast<std::size_t>(std::max(peers, 1));
  small_chunk = std::min(std::max<count_t>(aux_chunk / 2, 1), in_units(share));
  if (scratch) aux_chunk = in_units(aux_chunk_bytes);
}

}  // namespace taquin::detail
