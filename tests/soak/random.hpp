// Numbers that every rank draws identically from a seed.
#pragma once

#include <cstdint>

#include "taquin/types.hpp"

namespace taquin::soak {

/// All bits of the result depend on all bits of the argument (the finalizer of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t h) noexcept {
  h = (h ^ (h >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 27U)) * 0x94d049bb133111ebULL;
  return h ^ (h >> 31U);
}

constexpr std::uint64_t hash(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) noexcept {
  return mix(mix(a + 0x9e3779b97f4a7c15ULL * (b + 1)) + 0xd6e8feb86659fd93ULL * (c + 1));
}

/// A sequence of numbers: SplitMix64.
class source {
 public:
  constexpr explicit source(std::uint64_t seed) noexcept : state_(seed) {}
  constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  /// 0 … n−1.
  constexpr std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  /// low … high.
  constexpr int between(int low, int high) noexcept {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  /// True once in n times.
  constexpr bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }
  /// 0 … n with small numbers as likely as large ones: every power of two up to n has the same share.
  constexpr count_t any_size(count_t n) noexcept {
    int bits = 0;
    while ((n >> bits) > 0) ++bits;
    const auto limit = (std::uint64_t{1} << below(static_cast<std::uint64_t>(bits) + 1));
    return static_cast<count_t>(below(limit)) % (n + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace taquin::soak
