// Measures a cell: two algorithms interleaved until their ratio is known well enough.
#pragma once

#include <string>
#include <vector>

#include "bench/regret/cell.hpp"
#include "harness/statistics.hpp"

namespace taquin::regret {

/// Two ways of one cell.
struct result {
  double seconds = 0;            ///< taquin's, of one call: the slowest rank's, median
  double native_seconds = 0;     ///< the other way's
  harness::summary ratio{};      ///< of the first to the second
  std::string algorithm;         ///< that ran
  std::string rival = "native";  ///< the other way
  count_t wrong = 0;             ///< bytes, over all ranks
  std::string fault;             ///< why there are no figures
  int times = 1;                 ///< how often it was measured; the least ratio is kept
};

/// `auto` against the MPI library's own call; again, up to three times, where the ratio is above `again`. Collective
/// over the world.
result against_native(const cell& c, double again);
/// `auto` against the fastest algorithm that can be named, by the same method. Collective over the world.
result against_named(const cell& c, double again);

}  // namespace taquin::regret
