// The blocks of one rank by slot number: the caller's array first, then staging blocks that belong to taquin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// A place for one block: 0 … blocks−1 in the caller's array, then staging.
using slot = std::uint32_t;
inline constexpr slot no_slot = std::numeric_limits<slot>::max();

/// `count` slots in a row.
struct slot_range {
  slot first = 0;
  slot count = 0;
};

/// Adds a slot: to the last run if it follows it, but for `border`, the first staging slot, which follows nothing.
inline void append(std::pmr::vector<slot_range>& runs, slot s, slot border) {
  if (!runs.empty() && runs.back().first + runs.back().count == s && s != border) {
    ++runs.back().count;
  } else {
    runs.push_back({s, 1});
  }
}

/// Moves blocks between slots and counts the bytes. Blocks in the array have the caller's layout, with holes if the
/// type has any; staging blocks are packed.
class block_store {
 public:
  /// `blocks` blocks of `length` elements of `e` at `data`, and `staging` more from `memory`.
  block_store(void* data, slot blocks, count_t length, const element& e, slot staging,
              std::pmr::memory_resource* memory);

  [[nodiscard]] slot blocks() const noexcept { return blocks_; }
  [[nodiscard]] slot slots() const noexcept { return blocks_ + staging_; }
  /// Data bytes of one block.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return bytes_; }
  /// Blocks in the array are `block_bytes` in a row, as in staging.
  [[nodiscard]] bool plain() const noexcept { return plain_; }
  [[nodiscard]] count_t length() const noexcept { return length_; }
  [[nodiscard]] const taquin::element& element() const noexcept { return element_; }
  [[nodiscard]] std::byte* at(slot s) noexcept {
    return s < blocks_ ? data_ + static_cast<std::size_t>(s) * stride_
                       : extra_.data() + static_cast<std::size_t>(s - blocks_) * bytes_;
  }
  void set_data(void* data) noexcept { data_ = static_cast<std::byte*>(data); }

  /// Copies `count` blocks in a row; neither run crosses from the array to staging, and they do not overlap.
  void copy(slot from, slot to, slot count = 1);
  /// Packs blocks into `to`, `block_bytes` each.
  void gather(std::span<const slot_range> from, std::byte* to);

  /// Bytes that copy and gather moved.
  [[nodiscard]] std::uint64_t bytes_copied() const noexcept { return copied_; }

 private:
  std::byte* data_;
  slot blocks_;
  slot staging_;
  count_t length_;
  taquin::element element_;
  bool plain_;
  std::size_t bytes_;
  std::size_t stride_;
  std::pmr::vector<std::byte> extra_;
  std::uint64_t copied_ = 0;
};

}  // namespace taquin::detail
