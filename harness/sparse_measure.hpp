// Measuring sparse exchanges: taquin's and hand-written ones, interleaved, every byte of every repetition verified.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/measure.hpp"
#include "harness/sparse_methods.hpp"
#include "workloads/workload.hpp"

namespace taquin::harness {

/// One sparse exchange as this rank sees it.
struct sparse_problem {
  int rank = 0;
  sparse_sent sent;                 ///< one block for each destination, ascending
  std::vector<count_t> expected{};  ///< bytes from each rank; -1: nothing

  /// On all ranks of the world. `bytes` are those of a rank, or with `per_pair` those for each destination.
  sparse_problem(const workloads::workload& w, count_t bytes, bool per_pair, std::uint64_t seed);
  /// Bytes that are not what they should be; a block that did not arrive, or arrived twice, counts whole.
  [[nodiscard]] count_t wrong_bytes(const sparse_arrived& arrived) const;
};

/// Runs `x` with each contender; one whose `raw` is set is hand-written. `ratios` are to the fastest of these.
/// Collective over the world. `progress` gets the part that is done.
measured measure(const sparse_problem& x, std::vector<contender>& contenders, const measure_settings& settings,
                 const std::function<void(double)>& progress);

}  // namespace taquin::harness
