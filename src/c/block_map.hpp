// The map of data that are whole, as C has it.
#pragma once

#include "taquin/failure.hpp"
#include "taquin/taquin.h"

namespace taquin::detail {

/// Points into `map`.
TAQUIN_Block_map as_c(const failure::block_map& map) noexcept;

}  // namespace taquin::detail
