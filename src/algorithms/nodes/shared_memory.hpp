// The part of a node's shared memory that shared_memory uses.
#pragma once

#include <cstddef>

#include "exchange/shape.hpp"

namespace taquin::detail {

/// Bytes of a rank's room for blocks, within the shape's memory limit. `reused`: of a plan that may run again.
std::size_t payload_allowed(const shape& s, bool reused) noexcept;

}  // namespace taquin::detail
