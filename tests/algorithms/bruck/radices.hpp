// The radices that simulated Bruck algorithms are tried with.
#pragma once

#include <algorithm>
#include <cmath>
#include <set>

namespace taquin::detail {

inline std::set<int> radices(int p) {
  const int root = static_cast<int>(std::ceil(std::sqrt(p)));
  return {2, 3, 4, 8, std::max(2, root), std::max(2, p)};
}

}  // namespace taquin::detail
