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

// Bytes of at most a word that are not the expected one's.
count_t differing(std::span<const std::byte> there, std::uint64_t expected) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&expected);
  count_t wrong = 0;
  for (std::size_t i = 0; i < there.size(); ++i) wrong += there[i] != bytes[i] ? 1 : 0;
  return wrong;
}

}  // namespace

void write_pattern(std::span<std::byte> block, int from, int to) {
  const std::uint64_t k = key(from, to);
  const std::size_t whole = block.size() / word * word;
  for (std::size_t at = 0; at < whole; at += word) {
    const std::uint64_t w = word_at(k, at / word);
    std::memcpy(block.data() + at, &w, word);
  }
  const std::uint64_t last = word_at(k, whole / word);
  if (whole < block.size()) std::memcpy(block.data() + whole, &last, block.size() - whole);
}

count_t wrong_in_pattern(std::span<const std::byte> block, int from, int to) {
  const std::uint64_t k = key(from, to);
  const std::size_t whole = block.size() / word * word;
  count_t wrong = 0;
  for (std::size_t at = 0; at < whole; at += word) {
    const std::uint64_t expected = word_at(k, at / word);
    std::uint64_t there = 0;
    std::memcpy(&there, block.data() + at, word);
    if (there != expected) wrong += differing(block.subspan(at, word), expected);
  }
  return wrong + differing(block.subspan(whole), word_at(k, whole / word));
}

count_t wrong_in_guard(std::span<const std::byte> guard) {
  return static_cast<count_t>(guard.size()) - std::ranges::count(guard, poison);
}

}  // namespace taquin::harness
