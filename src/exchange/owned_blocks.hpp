// A side of an exchange with its own copy of counts and displacements, because a plan's callers may free theirs.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

class owned_blocks {
 public:
  owned_blocks(const blocks& given, int ranks, std::pmr::memory_resource* memory) : numbers_(memory), blocks_(given) {
    const auto n = as_size(ranks);
    array_list::take(*this, n);
    for (std::size_t i = 0; i < n; ++i) {
      numbers_[i] = given.counts[static_cast<int>(i)];
      numbers_[n + i] = given.displs[static_cast<int>(i)];
    }
    blocks_.counts = count_view(numbers_.data());
    blocks_.displs = count_view(numbers_.data() + n);
  }
  owned_blocks(const owned_blocks&) = delete;
  owned_blocks& operator=(const owned_blocks&) = delete;
  ~owned_blocks() = default;

  /// Bytes that it takes from `memory`.
  static constexpr std::size_t bytes(std::size_t ranks) noexcept { return array_list::bytes<owned_blocks>(ranks); }

  [[nodiscard]] block operator[](int peer) const noexcept { return blocks_[peer]; }
  /// The side itself; its arrays live here.
  [[nodiscard]] const blocks& side() const noexcept { return blocks_; }
  /// Where a block begins.
  [[nodiscard]] std::byte* at(const block& b) const noexcept {
    return static_cast<std::byte*>(blocks_.base) + b.offset;
  }

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&owned_blocks::numbers_, 2 * ranks);
  }

  std::pmr::vector<count_t> numbers_;
  blocks blocks_;
};

}  // namespace taquin::detail
