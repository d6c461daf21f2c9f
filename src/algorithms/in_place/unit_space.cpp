#include "algorithms/in_place/unit_space.hpp"

#include <algorithm>
#include <cstring>

#include "datatypes/typed_copy.hpp"

namespace taquin::detail {

element unit_space::unit_of(const exchange& x, const shape& s) noexcept {
  return s.unit_span == 0 ? element{MPI_BYTE, 1, 1, 0, 1} : x.recv.element;
}

unit_space::unit_space(const exchange& x, const shape& s, std::byte* aux) noexcept
    : unit_(unit_of(x, s)), base_(static_cast<std::byte*>(x.recv.base)), aux_(aux - unit_.true_lb) {}

count_t unit_space::fitting(const element& unit, std::size_t bytes) noexcept {
  const auto room = static_cast<count_t>(std::min<std::size_t>(bytes, PTRDIFF_MAX)) - unit.true_extent;
  return room < 0 ? 0 : room / unit.extent + 1;
}

void unit_space::move(const local_move& m) const {
  std::byte* from = address(m.from);
  std::byte* to = address(m.to);
  if (unit_.contiguous()) {
    const auto bytes = static_cast<std::size_t>(m.length * unit_.size);
    if (m.from.aux == m.to.aux) {
      std::memmove(to, from, bytes);
      return;
    }
    // In parts that a C library copies with vector registers: on some processors its string instruction for longer runs
    // is several times slower when the two addresses stand badly to each other.
    constexpr std::size_t part = 4096;
    for (std::size_t done = 0; done < bytes; done += part)
      std::memcpy(to + done, from + done, std::min(part, bytes - done));
    return;
  }
  // Runs that overlap go in parts no longer than their distance, from the end that is moved onto.
  const count_t distance = m.from.aux == m.to.aux ? m.to.at - m.from.at : m.length;
  const count_t step = std::clamp<count_t>(distance < 0 ? -distance : distance, 1, m.length);
  for (count_t done = 0; done < m.length; done += step) {
    const count_t n = std::min(step, m.length - done);
    const count_t at = distance > 0 ? m.length - done - n : done;
    typed_copy(from + at * unit_.extent, n, unit_, to + at * unit_.extent, n, unit_);
  }
}

std::size_t in_place_allowance(const shape& s, std::size_t limit, std::size_t least) noexcept {
  constexpr std::size_t floor = 64 << 10;
  if (limit != unlimited) return limit;
  const std::uint64_t most = std::max(s.max_rank_bytes, s.max_received_bytes);
  return std::max({static_cast<std::size_t>(most / 100), floor, 4 * least});
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
