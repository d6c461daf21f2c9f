// Permutes the elements of an array in place, after MADRE's local module: cycles of a permutation that is given.
#pragma once

#include <cstddef>
#include <span>

namespace taquin::detail {

/// Moves element k of `data`, `bytes` each, to place `position[k]`, a permutation of 0 … n−1. `buffer` holds an
/// element, or a part of one: the elements then go part by part. Each element is copied into its place once. The
/// entries of `position` are complemented as their elements move and stay so; the next call, for another array,
/// complements them back. Returns the bytes copied. Local.
std::size_t permute(std::byte* data, std::size_t bytes, std::span<int> position, std::span<std::byte> buffer) noexcept;

}  // namespace taquin::detail
