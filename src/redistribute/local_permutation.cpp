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

}  // namespace taquin::detail
