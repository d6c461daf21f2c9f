#include "algorithms/in_place/in_place_limits.hpp"

#include <algorithm>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

// Chunks, in bytes: large enough that a message's handshake is negligible, small enough that data in auxiliary memory
// are still in the cache when they are copied. A chunk uses half of that memory, so that another can be in flight.
// Fetched data are never in flight: larger chunks mean fewer turns of the ranks that share a core.
struct chunk_sizes {
  std::size_t in_place = 0;
  std::size_t staged = 0;
  std::size_t part = 1;  // of the auxiliary memory that a staged chunk takes at most
};
constexpr chunk_sizes requested{256 << 10, 128 << 10, 2};
constexpr chunk_sizes taken{512 << 10, 512 << 10, 1};
constexpr std::size_t swap_bytes = 128 << 10;
// Free regions wait until they are as large as so many peers' shares of the auxiliary memory, or as part of a message,
// whichever is smaller: free space is spread over the blocks of all peers, so more peers have smaller free regions.
constexpr std::size_t shares = 4;
constexpr count_t parts_of_message = 4;

}  // namespace

void in_place_limits::set_aux(count_t units, std::size_t bytes, std::size_t unit_bytes, int peers, count_t received,
                              bool fetched) noexcept {
  const auto in_units = [&](std::size_t n) { return static_cast<count_t>(std::max<std::size_t>(n / unit_bytes, 1)); };
  const chunk_sizes& sizes = fetched ? taken : requested;
  aux = units;
  chunk = in_units(sizes.in_place);
  swap_chunk = in_units(swap_bytes);
  const std::size_t most = std::min(sizes.staged, bytes / sizes.part);
  aux_chunk = in_units(most < page ? most : most / page * page);
  const std::size_t share = shares * bytes / as_size(std::max(peers, 1));
  const count_t message = received / std::max(peers, 1);
  small_chunk = std::max<count_t>(std::min({aux_chunk / 2, in_units(share), message / parts_of_message}), 1);
  if (scratch) aux_chunk = in_units(sizes.staged);
}

}  // namespace taquin::detail
