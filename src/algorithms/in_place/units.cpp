#include "algorithms/in_place/units.hpp"

#include <algorithm>

#include "base/sizes.hpp"

namespace taquin::detail {

element unit_of(const exchange& x, const shape& s) noexcept {
  return s.unit_span == 0 ? element{MPI_BYTE, 1, 1, 0, 1} : x.recv.element;
}

count_t fitting(const element& unit, std::size_t bytes) noexcept {
  return static_cast<count_t>(std::min<std::size_t>(bytes, PTRDIFF_MAX)) / unit.size;
}

std::size_t in_place_allowance(const shape& s, std::size_t limit, std::size_t least) noexcept {
  constexpr std::size_t floor = 64 << 10;
  if (limit != unlimited) return limit;
  const std::uint64_t most = std::max(s.max_rank_bytes, s.max_received_bytes);
  return std::max({as_size(most / 100), floor, 4 * least});
}

std::pmr::vector<peer_block> collect(const blocks& side, int ranks, const element& unit,
                                     std::pmr::memory_resource* memory) {
  std::size_t n = 0;
  for (int peer = 0; peer < ranks; ++peer) n += side[peer].bytes() > 0 ? 1 : 0;
  std::pmr::vector<peer_block> all(memory);
  all.reserve(n);
  for (int peer = 0; peer < ranks; ++peer) {
    const block b = side[peer];
    if (b.bytes() > 0) all.push_back({b.offset / unit.extent, b.bytes() / unit.size, peer});
  }
  return all;
}

std::pmr::vector<peer_block> collect_by_location(const blocks& side, int ranks, const element& unit,
                                                 std::pmr::memory_resource* memory) {
  auto all = collect(side, ranks, unit, memory);
  std::ranges::sort(all, {}, &peer_block::at);
  return all;
}

count_t total_units(const blocks& side, int ranks, const element& unit) noexcept {
  count_t units = 0;
  for (int peer = 0; peer < ranks; ++peer) units += side[peer].bytes() / unit.size;
  return units;
}

}  // namespace taquin::detail
