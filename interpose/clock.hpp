// One clock for all processes of a node.
#pragma once

#include <time.h>

namespace taquin::interpose {

/// Seconds.
inline double now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  constexpr double nano = 1e-9;
  return static_cast<double>(t.tv_sec) + nano * static_cast<double>(t.tv_nsec);
}

}  // namespace taquin::interpose
