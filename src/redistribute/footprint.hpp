// The memory of a redistribution, of the arrays that its parts declare.
#pragma once

#include <cstddef>
#include <limits>

#include "redistribute/machine.hpp"

namespace taquin::detail {

/// The sizes of buffers, the same on all ranks that have blocks: for blocks of `block_bytes`, when no such rank has
/// fewer than `least_blocks`. A rank without blocks has those for 0. With fewer blocks a message, at most `most_chunk`,
/// they take less.
buffer_sizes redistribution_sizes(std::size_t block_bytes, std::size_t least_blocks,
                                  slot most_chunk = std::numeric_limits<slot>::max()) noexcept;
/// The same for at most so many messages in flight (redistribute_options::in_flight).
buffer_sizes bounded(buffer_sizes sizes, int in_flight, int ranks) noexcept;
/// What the port needs for them.
port_limits redistribution_limits(const buffer_sizes& sizes, int ranks) noexcept;

/// The most bytes of scratch memory of a redistribution on a rank with `blocks` blocks, those that the algorithm hands
/// over to included: at most redistribution_bound.
std::size_t redistribution_footprint(const redistribution_algorithm& a, const buffer_sizes& sizes, int ranks,
                                     std::size_t blocks, std::size_t block_bytes) noexcept;

/// Of these, the bytes that are free for a sparse exchange by which ranks learn their targets. They grow with the
/// blocks.
std::size_t free_for_targets(const redistribution_algorithm& a, const buffer_sizes& sizes, int ranks,
                             std::size_t blocks) noexcept;

/// The bound that the documentation promises, linear in each argument.
constexpr std::size_t redistribution_bound(bool cyclic, std::size_t ranks, std::size_t blocks,
                                           std::size_t block_bytes) noexcept {
  return 17408 + 300 * ranks + (cyclic ? 82 : 66) * blocks + 81 * block_bytes;
}

}  // namespace taquin::detail
