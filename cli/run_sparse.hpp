// taquin run --collective sparse.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/option_table.hpp"

namespace taquin::cli {

/// The arguments, as in `taquin run`.
struct sparse_run {
  std::string workload;
  std::string bytes;
  std::vector<std::string> algorithms;
  std::string memory;
  std::string json;
  detail::owned_options opts;
  std::uint64_t seed = 1;
  int batch = 0;
  int repetitions = 0;
  bool per_pair = false;
};

/// Checks the arguments, measures, and gives the exit status. Throws usage.
int run_sparse(const sparse_run& a);

}  // namespace taquin::cli
