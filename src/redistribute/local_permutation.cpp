#include "redistribute/local_permutation.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace taquin::detail {

namespace {

// Bytes that are known when this is compiled are copied without a call. Bytes: 0 where they are not.
template <std::size_t Bytes>
void swap_with(std::byte* held, std::byte* element, std::size_t bytes) noexcept {
  if constexpr (Bytes > 0) {
    std::array<std::byte, Bytes> other;
    std::memcpy(other.data(), element, Bytes);
    std::memcpy(element, held, Bytes);
    std::memcpy(held, other.data(), Bytes);
  } else {
    std::swap_ranges(held, held + bytes, element);
  }
}

// `bytes` of each element, which begin `stride` after those of the one before.
template <std::size_t Bytes>
std::size_t follow_cycles(std::byte* data, std::size_t stride, std::size_t bytes, std::span<int> position,
                          std::byte* held) noexcept {
  const bool complemented = !position.empty() && position.front() < 0;
  const auto at = [&](int k) { return data + static_cast<std::size_t>(k) * stride; };
  const auto n = static_cast<int>(position.size());
  std::size_t copied = 0;
  for (int k = 0; k < n; ++k) {
    int from = k;
    for (int* next = &position[static_cast<std::size_t>(k)]; (*next < 0) == complemented;
         next = &position[static_cast<std::size_t>(from)]) {
      const int to = complemented ? ~*next : *next;
      *next = ~*next;
      if (from == k && to == k) break;
      if (from == k) std::memcpy(held, at(k), bytes);
      swap_with<Bytes>(held, at(to), bytes);
      copied += bytes;
      from = to;
    }
  }
  return copied;
}

template <std::size_t... Words>
auto find_size(std::size_t bytes, std::index_sequence<Words...>) noexcept {
  auto found = follow_cycles<0>;
  static_cast<void>(((bytes == (Words + 1) * 8 ? (found = follow_cycles<(Words + 1) * 8>, true) : false) || ...));
  return found;
}

}  // namespace

std::size_t permute(std::byte* data, std::size_t bytes, std::span<int> position, std::span<std::byte> buffer) noexcept {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < bytes; at += buffer.size()) {
    const std::size_t part = std::min(bytes - at, buffer.size());
    const auto follow = part == bytes ? find_size(part, std::make_index_sequence<16>()) : follow_cycles<0>;
    copied += follow(data + at, bytes, part, position, buffer.data());
  }
  return copied;
}

namespace {
constexpr std::size_t block_bytes = 4096;  // so that those of some ranks are in cache together
constexpr std::uint32_t nothing = ~std::uint32_t{0};

template <std::size_t Bytes>
void copy_one(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, Bytes > 0 ? Bytes : bytes);
}
}  // namespace

std::size_t partition_buffers::needed(std::size_t elements, std::size_t bytes, std::size_t ranks,
                                      std::size_t block) noexcept {
  return (2 * ranks + 1) * block * bytes + elements / block * sizeof(std::uint32_t) + ranks * sizeof(part);
}

std::size_t partition_buffers::block_length(std::size_t elements, std::size_t bytes, std::size_t ranks,
                                            std::size_t space) noexcept {
  if (bytes == 0 || elements == 0) return 0;
  for (std::size_t block = block_bytes / bytes; block > 1; block /= 2)
    if (needed(elements, bytes, ranks, block) <= space) return block;
  return 0;
}

partition_buffers::partition_buffers(std::size_t elements, std::size_t bytes, std::size_t ranks, std::size_t block,
                                     std::pmr::memory_resource* memory)
    : bytes_(bytes),
      block_(block),
      buffers_((2 * ranks + 1) * block * bytes, memory),
      source_(elements / block, nothing, memory),
      ranks_(ranks, memory) {}

// Into a block for each rank. A full one is appended to the blocks before: as many elements have been read.
void partition_buffers::gather(std::byte* data, std::span<const int> destinations) noexcept {
  const auto each = [&](auto copy, std::size_t bytes) {
    const std::size_t whole = block_ * bytes;
    part* const parts = ranks_.data();
    std::uint32_t written = 0;
    const std::byte* from = data;
    for (const int to : destinations) {
      part& p = parts[to];
      std::byte* const next = p.next;
      p.next = next + bytes;
      copy(next, from);
      from += bytes;
      if (next + bytes != p.end) continue;
      std::byte* const full = current(static_cast<std::size_t>(to));
      if (p.end == full + whole) {
        std::memcpy(data + written * whole, full, whole);
        source_[static_cast<std::size_t>(p.first + p.full++)] = written++;
      }
      p.next = full;
      p.end = full + whole;
    }
  };
  switch (bytes_) {
    case 4:
      return each([](std::byte* to, const std::byte* from) { copy_one<4>(to, from, 0); }, 4);
    case 8:
      return each([](std::byte* to, const std::byte* from) { copy_one<8>(to, from, 0); }, 8);
    case 16:
      return each([](std::byte* to, const std::byte* from) { copy_one<16>(to, from, 0); }, 16);
    case 24:
      return each([](std::byte* to, const std::byte* from) { copy_one<24>(to, from, 0); }, 24);
    case 32:
      return each([](std::byte* to, const std::byte* from) { copy_one<32>(to, from, 0); }, 32);
    case 56:
      return each([](std::byte* to, const std::byte* from) { copy_one<56>(to, from, 0); }, 56);
    case 64:
      return each([](std::byte* to, const std::byte* from) { copy_one<64>(to, from, 0); }, 64);
    default:
      return each([b = bytes_](std::byte* to, const std::byte* from) { copy_one<0>(to, from, b); }, bytes_);
  }
}

// Chains begin at places that hold no block; cycles remain, of which a block waits in the spare one.
std::size_t partition_buffers::move_blocks(std::byte* data) noexcept {
  const std::size_t bytes = block_ * bytes_;
  const std::size_t written = source_.size() - static_cast<std::size_t>(std::ranges::count(source_, nothing));
  std::size_t copied = 0;
  const auto follow = [&](std::size_t free_region, std::size_t end) {
    for (std::uint32_t from = source_[free_region]; from != nothing && from != end; from = source_[free_region]) {
      std::memcpy(data + free_region * bytes, data + from * bytes, bytes);
      copied += bytes;
      source_[free_region] = nothing;
      free_region = from;
    }
    return free_region;
  };
  for (std::size_t place = written; place < source_.size(); ++place) follow(place, nothing);
  for (std::size_t place = 0; place < written; ++place) {
    if (source_[place] == nothing || source_[place] == place) continue;
    std::memcpy(spare(), data + place * bytes, bytes);
    const std::size_t last = follow(place, place);
    std::memcpy(data + last * bytes, spare(), bytes);
    source_[last] = nothing;
    copied += 2 * bytes;
  }
  return copied;
}

std::size_t partition_buffers::partition(std::byte* data, std::span<const int> destinations,
                                         std::span<const std::int64_t> counts,
                                         std::span<const std::int64_t> starts) noexcept {
  const auto length = static_cast<std::int64_t>(block_);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::int64_t head = std::min(counts[r], (length - starts[r] % length) % length);
    std::byte* const begin = head > 0 ? this->head(r) : current(r);
    ranks_[r] = {head,
                 (counts[r] - head) / length,
                 (starts[r] + head) / length,
                 0,
                 begin,
                 begin + static_cast<std::size_t>(head > 0 ? head : length) * bytes_};
  }
  gather(data, destinations);
  std::size_t copied = 2 * destinations.size() * bytes_ + move_blocks(data);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const part& p = ranks_[r];
    const auto at = [&](std::int64_t element) { return data + static_cast<std::size_t>(element) * bytes_; };
    std::memcpy(at(starts[r]), head(r), static_cast<std::size_t>(p.head) * bytes_);
    const std::int64_t in_place = p.head + p.blocks * length;
    std::memcpy(at(starts[r] + in_place), current(r), static_cast<std::size_t>(counts[r] - in_place) * bytes_);
  }
  return copied;
}

}  // namespace taquin::detail
