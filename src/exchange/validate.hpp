// Local checks of an exchange's arguments.
#pragma once

#include <memory_resource>
#include <optional>
#include <string>

#include "base/invalid_argument.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// The first invalid argument of this rank, if any: negative counts, a null buffer or type for a block with data,
/// receive blocks that overlap (in place: send blocks as well), receive blocks that overlap send blocks, with MPICH one
/// buffer for both sides. Local; O(ranks) when blocks are in order and the sides apart, otherwise O(ranks log ranks),
/// or O(ranks²) if both sides lie among each other out of order. Blocks of types with gaps may interleave legally and
/// are not compared.
std::optional<invalid_argument> validate(const exchange& x, int ranks, std::pmr::memory_resource* memory);

/// The error of a block that is not as long as its receive block: MPI_ERR_TRUNCATE for one that is longer,
/// MPI_ERR_COUNT for one that is shorter.
invalid_argument mismatch(int from, count_t sent, int to, count_t expected);

}  // namespace taquin::detail
