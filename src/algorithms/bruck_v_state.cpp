#include "algorithms/bruck_v_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/bruck.hpp"
#include "datatypes/typed_copy.hpp"
#include "taquin/error.hpp"

namespace taquin::detail::bruck {

namespace {

const std::byte* address(const blocks& side, const block& b) {
  return static_cast<const std::byte*>(side.base) + b.offset;
}

std::byte* writable(const blocks& side, const block& b) { return static_cast<std::byte*>(side.base) + b.offset; }

int up(const local_exchange& x, int distance) { return (x.rank + distance) % x.ranks; }
int down(const local_exchange& x, int distance) { return (x.rank - distance + x.ranks) % x.ranks; }

bool travels(size_field size) { return size < unknown_size; }

}  // namespace

std::size_t route::capacity(bool with_data) const noexcept {
  return count(ranks, radix).message_elements *
         (sizeof(size_field) + (with_data ? static_cast<std::size_t>(threshold) : 0));
}

count_t route::next_weight(count_t weight, int t) const noexcept {
  for (weight *= radix; weight <= t; weight *= radix)
    if (t / weight % radix != 0) return weight;
  return 0;
}

bruck_v_sizes::bruck_v_sizes(const local_exchange& x, const route& r, std::pmr::memory_resource* memory)
    : x_(x), route_(r), sizes_(static_cast<std::size_t>(r.ranks), memory) {
  for (int t = 0; t < r.ranks; ++t) {
    const count_t bytes = x.send[up(x, t)].bytes();
    sizes_[static_cast<std::size_t>(t)] = bytes > r.threshold ? goes_directly : static_cast<size_field>(bytes);
  }
}

std::size_t bruck_v_sizes::bytes(const route& r) noexcept {
  return static_cast<std::size_t>(r.ranks) * sizeof(size_field);
}

std::size_t bruck_v_sizes::load(count_t weight, count_t digit, std::span<std::byte> to) const {
  std::byte* at = to.data();
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    std::memcpy(at, &sizes_[static_cast<std::size_t>(t)], sizeof(size_field));
    at += sizeof(size_field);
  });
  return static_cast<std::size_t>(at - to.data());
}

void bruck_v_sizes::unload(count_t weight, count_t digit, std::span<const std::byte> from) {
  std::size_t at = 0;
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    size_field size = unknown_size;
    if (at + sizeof size <= from.size()) std::memcpy(&size, from.data() + at, sizeof size);
    if (travels(size) && size > route_.threshold) size = unknown_size;
    sizes_[static_cast<std::size_t>(t)] = size;
    at += sizeof size;
  });
}

std::optional<defect> bruck_v_sizes::mismatch() const {
  for (int t = 1; t < route_.ranks; ++t) {
    const int peer = down(x_, t);
    const count_t expected = x_.recv[peer].bytes();
    const size_field size = sizes_[static_cast<std::size_t>(t)];
    if (size == (expected > route_.threshold ? goes_directly : expected)) continue;
    if (travels(size))
      return defect{
          fmt::format("rank {} sends {} bytes to rank {}, which expects {} bytes", peer, size, x_.rank, expected),
          MPI_ERR_TRUNCATE, peer};
    return defect{fmt::format("rank {} sends more than {} bytes to rank {}, which expects {} bytes", peer,
                              route_.threshold, x_.rank, expected),
                  MPI_ERR_TRUNCATE, peer};
  }
  return std::nullopt;
}

namespace {

std::size_t arriving_bytes(const route& r) noexcept {
  return count(r.ranks, r.radix).elements * static_cast<std::size_t>(r.threshold);
}

}  // namespace

bruck_v_state::bruck_v_state(const local_exchange& x, const route& r, std::pmr::memory_resource* memory)
    : x_(x),
      route_(r),
      sizes_(x, r, memory),
      arrived_(arriving_bytes(r), memory),
      places_(static_cast<std::size_t>(r.ranks), memory) {}

std::size_t bruck_v_state::bytes(const route& r) noexcept {
  return bruck_v_sizes::bytes(r) + arriving_bytes(r) + static_cast<std::size_t>(r.ranks) * sizeof(std::uint32_t);
}

std::size_t bruck_v_state::load(count_t weight, count_t digit, std::span<std::byte> to) {
  std::size_t at = sizes_.load(weight, digit, to);
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    const size_field size = sizes_[t];
    if (!travels(size) || size == 0) return;
    if (t % weight == 0) {  // it has not moved yet
      const block b = x_.send[up(x_, t)];
      pack(address(x_.send, b), b.count, b.element, to.data() + at);
    } else {
      std::memcpy(to.data() + at, arrived_.data() + places_[static_cast<std::size_t>(t)], size);
    }
    at += size;
    copied_ += size;
  });
  return at;
}

void bruck_v_state::unload(count_t weight, count_t digit, std::span<const std::byte> from) {
  sizes_.unload(weight, digit, from);
  std::size_t at = 0;
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int) { at += sizeof(size_field); });
  const std::size_t first = used_;
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    places_[static_cast<std::size_t>(t)] = static_cast<std::uint32_t>(used_);
    if (travels(sizes_[t])) used_ += sizes_[t];
  });
  const std::size_t bytes = at < from.size() ? std::min(used_ - first, from.size() - at) : 0;
  if (bytes > 0) std::memcpy(arrived_.data() + first, from.data() + at, bytes);
  copied_ += bytes;
}

void bruck_v_state::deliver() {
  if (const auto bad = sizes_.mismatch()) throw usage_error(bad->what, bad->mpi_class, x_.rank, bad->peer);
  const block own = x_.send[x_.rank];
  const block home = x_.recv[x_.rank];
  typed_copy(address(x_.send, own), own.count, own.element, writable(x_.recv, home), home.count, home.element);
  copied_ += static_cast<std::uint64_t>(own.bytes());
  for (int t = 1; t < route_.ranks; ++t) {
    if (!travels(sizes_[t])) continue;
    const block b = x_.recv[down(x_, t)];
    unpack(arrived_.data() + places_[static_cast<std::size_t>(t)], writable(x_.recv, b), b.count, b.element);
    copied_ += sizes_[t];
  }
}

}  // namespace taquin::detail::bruck
