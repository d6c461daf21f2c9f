// `plan` of sparse exchanges. Without MPI ranks.
#pragma once

#include <cstdint>
#include <string>

namespace taquin::cli {

/// A sparse exchange without ranks.
struct sparse_offline {
  std::string algorithm;  ///< a name of sparse.def
  std::string workload;
  std::string bytes;  ///< of a rank, or for each destination
  bool per_pair = false;
  int per_node = 0;  ///< ranks of a node
  std::size_t in_flight = 32;
  std::uint64_t seed = 1;
};

/// Prints what one rank of `ranks` does, or with a file what all do, as JSON. `write` writes that.
int plan_sparse(const sparse_offline& a, int ranks, int rank, const std::string& json,
                void (*write)(const std::string& path, const std::string& text));

}  // namespace taquin::cli
