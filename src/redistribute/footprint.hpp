// The memory of a redistribution, computed from the arrays that its parts declare.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "redistribute/machine.hpp"

namespace taquin::detail {

/// The sizes of buffers, the same on all ranks that have blocks: for blocks of `block_bytes`, when no such rank has
/// fewer than `least_blocks`. A rank without blocks has those for 0. With fewer blocks a message, at most `most_chunk`,
/// they need less.
buffer_sizes redistribution_sizes(std::size_t block_bytes, std::size_t least_blocks,
                                  slot most_chunk = std::numeric_limits<slot>::max()) noexcept;
/// The same for at most so many messages in flight (redistribute_options::in_flight).
buffer_sizes bounded(buffer_sizes sizes, int in_flight, int ranks) noexcept;
/// The sizes of the port for them.
port_limits redistribution_limits(const buffer_sizes& sizes, int ranks) noexcept;

/// The most bytes of scratch memory of a redistribution on a rank with `blocks` blocks, those that the algorithm hands
/// over to included.
std::size_t redistribution_footprint(const redistribution_algorithm& a, const buffer_sizes& sizes, int ranks,
                                     std::size_t blocks, std::size_t block_bytes) noexcept;

/// Of these, the bytes that are free for a sparse exchange by which ranks exchange their targets. They grow with the
/// blocks.
std::size_t free_for_targets(const redistribution_algorithm& a, const buffer_sizes& sizes, int ranks,
                             std::size_t blocks) noexcept;

/// Of a problem that all ranks know.
struct redistribution_problem {
  const redistribution_algorithm* algorithm = nullptr;
  int ranks = 1;
  int in_flight = 0;
  std::size_t block_bytes = 0;
  std::size_t block_length = 0;  ///< elements
  bool gaps = false;             ///< some rank's elements are not contiguous, so that a part has whole ones
  std::size_t least_blocks = 0;  ///< of a rank that has some
  std::size_t most_blocks = 0;
};

/// Buffers, and in how many parts each block goes: each part is a block of its own.
struct buffer_choice {
  buffer_sizes sizes;
  std::size_t parts = 1;
};

/// The largest buffers within `memory`: messages of fewer blocks, then fewer buffers, then equal parts of blocks, as
/// few as possible. Null where none fit. Without a limit `memory` is redistribution_tables and default_buffers. Pure.
std::optional<buffer_choice> choose_buffers(const redistribution_problem& p, std::size_t memory) noexcept;

/// The least memory for which there is a choice, and that of the choice without a limit.
std::size_t least_memory(const redistribution_problem& p) noexcept;
std::size_t usual_memory(const redistribution_problem& p) noexcept;

/// The buffers of a rank that has no blocks.
buffer_sizes without_blocks(const buffer_choice& c, const redistribution_problem& p) noexcept;

/// Parts of blocks have at least these bytes.
constexpr std::size_t least_part = 4096;

/// The documented formula, for p ranks with m blocks of l bytes in n equal parts: the least memory is at most `fixed` +
/// `rank`·p + `block`·m·n + `least_buffers`·l/n bytes. Its first three terms are the tables, for any buffers.
struct memory_terms {
  static constexpr std::size_t fixed = 21504, rank = 300, block = 16, least_buffers = 3;
  static constexpr std::size_t small_block = 16384;  ///< at most: such blocks have at least `for_small` by default
  static constexpr std::size_t for_small = std::size_t{3} << 19U, for_large = std::size_t{1} << 16U;
};

constexpr std::size_t redistribution_tables(std::size_t ranks, std::size_t blocks) noexcept {
  return memory_terms::fixed + memory_terms::rank * ranks + memory_terms::block * blocks;
}
constexpr std::size_t least_buffers(std::size_t block_bytes, std::size_t parts) noexcept {
  return memory_terms::least_buffers * (block_bytes / parts);
}
/// The most for buffers where there is no limit: 1% of the data, or more if that is little.
constexpr std::size_t default_buffers(std::size_t blocks, std::size_t block_bytes) noexcept {
  const bool small = block_bytes <= memory_terms::small_block;
  return std::max(blocks * block_bytes / 100, small ? memory_terms::for_small : memory_terms::for_large);
}

}  // namespace taquin::detail
