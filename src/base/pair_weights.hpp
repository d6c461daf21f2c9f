// Weights by which a sum over all ranks shows whether the sizes that ranks state agree.
#pragma once

#include <cstdint>

namespace taquin::detail {

/// A number for each rank in either role. A block's weight is the product of its sender's and its receiver's: a rank
/// multiplies by its own number once.
struct pair_weights {
  static constexpr std::uint64_t sender(int rank) noexcept { return mix(2 * static_cast<std::uint64_t>(rank) + 1); }
  static constexpr std::uint64_t receiver(int rank) noexcept { return mix(2 * static_cast<std::uint64_t>(rank) + 2); }

 private:
  // The finaliser of SplitMix64; odd, so that no block's bytes are lost in the product.
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z *= 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31U)) | 1U;
  }
};

}  // namespace taquin::detail
