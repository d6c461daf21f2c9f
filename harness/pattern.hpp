// Data that identify their origin: every byte depends on sender, receiver and position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "taquin/types.hpp"

namespace taquin::harness {

/// The contents of receive buffers before an exchange, and of guards always.
inline constexpr std::byte poison{0xa5};

/// Writes the block that `from` sends to `to`.
void write_pattern(std::span<std::byte> block, int from, int to);
/// Bytes that differ from that block.
count_t wrong_in_pattern(std::span<const std::byte> block, int from, int to);
/// Bytes that are no longer poison.
count_t wrong_in_guard(std::span<const std::byte> guard);

}  // namespace taquin::harness
