// Which places of a rank's array are taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/arrays.hpp"
#include "redistribute/block_map.hpp"

namespace taquin::detail {

/// A bit for each place of the caller's array.
class place_set {
 public:
  place_set(std::size_t places, std::pmr::memory_resource* memory) : bits_(memory) { array_list::take(*this, places); }
  static std::size_t bytes(std::size_t places) noexcept { return array_list::bytes<place_set>(places); }

  /// Adds a place; false if it was there.
  bool add(slot x) noexcept {
    std::uint64_t& bits = bits_[x / 64];
    const std::uint64_t bit = std::uint64_t{1} << (x % 64);
    const bool fresh = (bits & bit) == 0;
    bits |= bit;
    return fresh;
  }

 private:
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t places) {
    each(&place_set::bits_, (places + 63) / 64);
  }
  std::pmr::vector<std::uint64_t> bits_;
};

}  // namespace taquin::detail
