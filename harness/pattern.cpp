#include "harness/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace taquin::harness {

namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t key(int from, int to) {
  return (static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to)) * 0xd6e8feb86659fd93ULL;
}

std::uint64_t mix(std::uint64_t v) {
  v = (v ^ v >> 32U) * 0xd6e8feb86659fd93ULL;
  return v ^ v >> 32U;
}

std::uint64_t word_at(std::uint64_t k, std::size_t i) { return mix(k + i * 0x9e3779b97f4a7c15ULL); }

}  // namespace

void write_pattern(std::span<std::byte> block, int from, int to) {
  const std::uint64_t k = key(from, to);
  for (std::size_t at = 0; at < block.size(); at += word) {
    const std::uint64_t w = word_at(k, at / word);
    std::memcpy(block.data() + at, &w, std::min(word, block.size() - at));
  }
}

count_t wrong_in_pattern(std::span<const std::byte> block, int from, int to) {
  const std::uint64_t k = key(from, to);
  count_t wrong = 0;
  for (std::size_t at = 0; at < block.size(); at += word) {
    const std::uint64_t w = word_at(k, at / word);
    const std::size_t n = std::min(word, block.size() - at);
    if (std::memcmp(block.data() + at, &w, n) == 0) continue;
    const auto* expected = reinterpret_cast<const std::byte*>(&w);
    for (std::size_t i = 0; i < n; ++i) wrong += block[at + i] != expected[i] ? 1 : 0;
  }
  return wrong;
}

count_t wrong_in_guard(std::span<const std::byte> guard) {
  return static_cast<count_t>(guard.size()) - std::ranges::count(guard, poison);
}

}  // namespace taquin::harness
