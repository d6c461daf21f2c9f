// The result of a measurement: a JSON record per algorithm, and a table for people.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/shown.hpp"
#include "harness/measure.hpp"

namespace taquin::harness {

/// The common settings of all algorithms of one measurement.
struct setting {
  std::string workload;
  std::string collective;
  int ranks = 1;
  bool in_place = false;
  bool mpi_in_place = false;  ///< by MPI_IN_PLACE, also of native
  bool persistent = false;
  count_t bytes_per_rank = 0;
  count_t per_pair_bytes = 0;  ///< as requested; 0 for a recording
  std::size_t memory_limit = unlimited;
  std::uint64_t seed = 1;
  measured how{};
};

/// A record; `memory_limit` is null without limit. Of a contender that could not run it has the `reason`, and null for
/// what was not measured. `by_default` counts the calls of a recording that auto did instead.
nlohmann::json record(const setting& s, const contender& c);

/// Writes aligned tables of records that share their setting.
void print_table(std::FILE* out, const std::vector<nlohmann::json>& records);

using detail::show_seconds;

}  // namespace taquin::harness
