// Permutes the elements of an array in place, after MADRE's local module: cycles of a permutation that is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/raw_buffer.hpp"

namespace taquin::detail {

/// Moves element k of `data`, `bytes` each, to place `position[k]`, a permutation of 0 … n−1. `buffer` holds an
/// element, or a part of one: the elements then go part by part. Each element is copied into its place once. The
/// entries of `position` are complemented as their elements move and stay so; the next call, for another array,
/// complements them back. Returns the bytes copied. Local.
std::size_t permute(std::byte* data, std::size_t bytes, std::span<int> position, std::span<std::byte> buffer) noexcept;

/// The memory of partition() for elements of `bytes` each.
class partition_buffers {
 public:
  /// Elements in a block; 0: the memory is too small, or elements are so large that blocks are no use.
  static std::size_t block_length(std::size_t elements, std::size_t bytes, std::size_t ranks,
                                  std::size_t space) noexcept;

  partition_buffers(std::size_t elements, std::size_t bytes, std::size_t ranks, std::size_t block,
                    std::pmr::memory_resource* memory);

  /// Sorts by destination, stably: those for rank r go to `starts[r]` and the `counts[r]` − 1 places after it. Elements
  /// are gathered in a block for each rank, in cache; full blocks go to the front of the array, and then as they are to
  /// their places, which begin at multiples of a block. Those before the first and after the last one of a rank stay in
  /// the buffers meanwhile. Each element is copied two or three times, but memory is read and written in order. Returns
  /// the bytes copied. Local.
  std::size_t partition(std::byte* data, std::span<const int> destinations, std::span<const std::int64_t> counts,
                        std::span<const std::int64_t> starts) noexcept;

 private:
  static std::size_t needed(std::size_t elements, std::size_t bytes, std::size_t ranks, std::size_t block) noexcept;
  void gather(std::byte* data, std::span<const int> destinations) noexcept;
  std::size_t move_blocks(std::byte* data) noexcept;
  [[nodiscard]] std::byte* head(std::size_t rank) noexcept { return buffers_.data() + 2 * rank * block_ * bytes_; }
  [[nodiscard]] std::byte* current(std::size_t rank) noexcept { return head(rank) + block_ * bytes_; }
  [[nodiscard]] std::byte* spare() noexcept { return head(ranks_.size()); }

  struct part {
    std::int64_t head = 0;      // elements before its first block
    std::int64_t blocks = 0;    // whole ones
    std::int64_t first = 0;     // the place of the first of them, in blocks
    std::int64_t full = 0;      // of them, so far
    std::byte* next = nullptr;  // where its next element is gathered
    std::byte* end = nullptr;   // of the elements before its first block, or of a block
  };
  std::size_t bytes_;
  std::size_t block_;
  raw_buffer buffers_;
  std::pmr::vector<std::uint32_t> source_;  // of the block that comes to each place, in blocks
  std::pmr::vector<part> ranks_;
};

}  // namespace taquin::detail
