// One of several arrays in which units with the same index belong together.
#pragma once

#include <cstddef>

namespace taquin::detail {

struct unit_column {
  std::byte* data = nullptr;
  std::size_t bytes = 0;   ///< of a unit in this array
  std::size_t before = 0;  ///< of a unit in the arrays before it
};

/// Arrays that move through one exchange.
inline constexpr std::size_t most_columns = 16;

}  // namespace taquin::detail
