// The memory of a redistribution, computed from the arrays that its parts declare.
#pragma once

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
/// over to included: at most redistribution_bound.
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
/// few as possible. Null where none fit. Without a limit blocks of at most 16 KiB have the largest buffers, and larger
/// ones buffers of 1% of the data, at least 64 KiB. Pure.
std::optional<buffer_choice> choose_buffers(const redistribution_problem& p, std::size_t memory) noexcept;

/// The least memory for which there is a choice.
std::size_t least_memory(const redistribution_problem& p) noexcept;
/// That of the choice without a limit.
std::size_t usual_memory(const redistribution_problem& p) noexcept;

/// The buffers of a rank that has no blocks.
buffer_sizes without_blocks(const buffer_choice& c, const redistribution_problem& p) noexcept;

/// Parts of blocks have at least these bytes.
constexpr std::size_t least_part = 4096;

/// The documented bounds, for p ranks with m blocks of l bytes: `fixed` + `rank`·p + `block`·m + `buffers`·l bytes are
/// enough for the largest buffers, and `fixed` + `rank`·p + `block`·m·n + `least_buffers`·l/n for the least, where
/// blocks go in n equal parts.
struct memory_terms {
  static constexpr std::size_t fixed = 17408, rank = 300, block = 66, block_of_cyclic = 82, buffers = 81,
                               least_buffers = 3;
};

constexpr std::size_t redistribution_tables(bool cyclic, std::size_t ranks, std::size_t blocks) noexcept {
  return memory_terms::fixed + memory_terms::rank * ranks +
         (cyclic ? memory_terms::block_of_cyclic : memory_terms::block) * blocks;
}
constexpr std::size_t redistribution_bound(bool cyclic, std::size_t ranks, std::size_t blocks,
                                           std::size_t block_bytes) noexcept {
  return redistribution_tables(cyclic, ranks, blocks) + memory_terms::buffers * block_bytes;
}
constexpr std::size_t least_redistribution_bound(bool cyclic, std::size_t ranks, std::size_t blocks,
                                                 std::size_t block_bytes, std::size_t parts) noexcept {
  return redistribution_tables(cyclic, ranks, blocks * parts) + memory_terms::least_buffers * (block_bytes / parts);
}

}  // namespace taquin::detail
