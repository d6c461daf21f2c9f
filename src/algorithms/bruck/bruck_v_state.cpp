#include "algorithms/bruck/bruck_v_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/bruck/bruck.hpp"
#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "datatypes/typed_copy.hpp"
#include "exchange/validate.hpp"
#include "taquin/error.hpp"

namespace taquin::detail::bruck {

namespace {

const std::byte* address(const blocks& side, const block& b) {
  return static_cast<const std::byte*>(side.base) + b.offset;
}

std::byte* writable(const blocks& side, const block& b) { return static_cast<std::byte*>(side.base) + b.offset; }

// For 0 ≤ distance ≤ p. Without a division, which would cost more than all other work for a small block.
int up(const local_exchange& x, int distance) {
  const int peer = x.rank + distance;
  return peer < x.ranks ? peer : peer - x.ranks;
}
int down(const local_exchange& x, int distance) {
  const int peer = x.rank - distance;
  return peer >= 0 ? peer : peer + x.ranks;
}

template <class Size>
bool travels(Size size) {
  return size < marks_unknown<Size>;
}

void pack_block(const blocks& side, int peer, std::byte* to) {
  const block b = side[peer];
  if (b.element.contiguous()) {
    copy_bytes(to, address(side, b), as_size(b.bytes()));
  } else {
    pack(address(side, b), b.count, b.element, to);
  }
}

// As many whole elements as `bytes` hold, but no more than the block has.
void unpack_block(const blocks& side, int peer, const std::byte* from, count_t bytes) {
  block b = side[peer];
  if (bytes < b.bytes()) b.count = bytes / b.element.size;
  if (b.element.contiguous()) {
    copy_bytes(writable(side, b), from, as_size(b.bytes()));
  } else {
    unpack(from, writable(side, b), b.count, b.element);
  }
}

}  // namespace

std::size_t route::capacity(bool with_data, std::size_t size_bytes) const noexcept {
  return count(ranks, radix).message_elements * (size_bytes + (with_data ? as_size(largest) : 0));
}

count_t route::next_weight(count_t weight, int t) const noexcept {
  for (weight *= radix; weight <= t; weight *= radix)
    if (t / weight % radix != 0) return weight;
  return 0;
}

template <class Size>
element_sizes<Size>::element_sizes(const local_exchange& x, const route& r, std::pmr::memory_resource* memory)
    : x_(x), route_(r), sizes_(memory) {
  array_list::take(*this, r);
  for (int t = 0; t < r.ranks; ++t) {
    const count_t bytes = x.send[up(x, t)].bytes();
    const bool direct = bytes > r.threshold;
    sizes_[as_size(t)] = direct ? marks_direct<Size> : static_cast<Size>(bytes);
    any_direct_ = any_direct_ || (t > 0 && (direct || x.recv[down(x, t)].bytes() > r.threshold));
  }
}

template <class Size>
std::size_t element_sizes<Size>::bytes(const route& r) noexcept {
  return array_list::bytes<element_sizes>(r);
}

template <class Size>
std::size_t element_sizes<Size>::load(count_t weight, count_t digit, std::span<std::byte> to) const {
  std::byte* at = to.data();
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    std::memcpy(at, &sizes_[as_size(t)], sizeof(Size));
    at += sizeof(Size);
  });
  return as_size(at - to.data());
}

template <class Size>
Size element_sizes<Size>::take(int t, std::span<const std::byte>& from) noexcept {
  Size size = marks_unknown<Size>;
  if (from.size() >= sizeof size) {
    std::memcpy(&size, from.data(), sizeof size);
    from = from.subspan(sizeof size);
  }
  if (travels(size) && size > route_.threshold) size = marks_unknown<Size>;
  return sizes_[as_size(t)] = size;
}

template <class Size>
void element_sizes<Size>::unload(count_t weight, count_t digit, std::span<const std::byte> from) {
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) { take(t, from); });
}

template <class Size>
std::optional<invalid_argument> element_sizes<Size>::mismatch(bool shorter) const {
  for (int t = 1; t < route_.ranks; ++t) {
    const int peer = down(x_, t);
    const count_t expected = x_.recv[peer].bytes();
    const Size size = sizes_[as_size(t)];
    if (size == (expected > route_.threshold ? marks_direct<Size> : expected)) continue;
    if (shorter && size < expected && expected <= route_.threshold) continue;
    if (travels(size)) return detail::mismatch(peer, size, x_.rank, expected);
    return invalid_argument{fmt::format("rank {} sends more than {} bytes to rank {}, which expects {} bytes", peer,
                                        route_.threshold, x_.rank, expected),
                            MPI_ERR_TRUNCATE, peer};
  }
  return std::nullopt;
}

template class element_sizes<size_field>;
template class element_sizes<wide_size>;

// All messages side by side; the last one's room is assumed to be the largest.
std::size_t bruck_v_state::arriving_bytes(const route& r) noexcept {
  const figures f = count(r.ranks, r.radix);
  return f.elements * (as_size(r.largest) + sizeof(size_field)) + r.capacity(true);
}

bruck_v_state::bruck_v_state(const local_exchange& x, const route& r, std::pmr::memory_resource* memory)
    : x_(x), route_(r), sizes_(x, r, memory), arrived_(memory), places_(memory) {
  array_list::take(*this, r);
}

std::size_t bruck_v_state::bytes(const route& r) noexcept {
  return bruck_v_sizes::bytes(r) + array_list::bytes<bruck_v_state>(r);
}

std::size_t bruck_v_state::load(count_t weight, count_t digit, std::span<std::byte> to) {
  std::byte* data = to.data() + sizes_.load(weight, digit, to);
  const std::byte* const first_byte = data;
  for_each_row(route_.ranks, route_.radix, weight, digit, [&](int first, int end) {
    if (const size_field size = sizes_[first]; travels(size) && size > 0) {  // it has not moved yet
      pack_block(x_.send, up(x_, first), data);
      data += size;
    }
    for (int t = first + 1; t < end; ++t) {
      const size_field size = sizes_[t];
      if (!travels(size)) continue;
      copy_bytes(data, arrived_.data() + places_[as_size(t)], size);
      data += size;
    }
  });
  copied_ += static_cast<std::uint64_t>(data - first_byte);
  return as_size(data - to.data());
}

void bruck_v_state::unload(count_t weight, count_t digit, std::span<const std::byte> from) {
  const auto begin = as_size(from.data() - arrived_.data());
  // A message that is longer than this rank expects is overwritten by the next one: the exchange fails.
  const std::size_t end = begin + from.size();
  if (end + route_.capacity(true) <= arrived_.size()) used_ = end;
  auto at = static_cast<std::uint32_t>(begin + message_elements(route_.ranks, route_.radix, weight, digit) *
                                                   sizeof(size_field));
  for_each_element(route_.ranks, route_.radix, weight, digit, [&](int t) {
    places_[as_size(t)] = at;
    if (const size_field size = sizes_.take(t, from); travels(size)) at += size;
  });
}

void bruck_v_state::deliver() {
  const block own = x_.send[x_.rank];
  const block home = x_.recv[x_.rank];
  typed_copy(address(x_.send, own), own.count, own.element, writable(x_.recv, home), home.count, home.element);
  copied_ += static_cast<std::uint64_t>(own.bytes());
  for (int t = 1; t < route_.ranks; ++t) {
    const size_field size = sizes_[t];
    if (!travels(size) || size == 0) continue;
    unpack_block(x_.recv, down(x_, t), arrived_.data() + places_[as_size(t)], size);
    copied_ += size;
  }
}

}  // namespace taquin::detail::bruck
