// Integer types that the whole library shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace taquin {

/// Elements, bytes or displacements. Always 64 bits, whatever the MPI library's counts are.
using count_t = std::int64_t;

/// The value of `options::memory` that sets no limit.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

}  // namespace taquin
