// `plan`, `simulate` and `explain` of sparse exchanges. Without MPI ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/cost_model.hpp"
#include "taquin/types.hpp"

namespace taquin::cli {

/// A sparse exchange without ranks.
struct sparse_offline {
  std::vector<std::string> algorithms;  ///< names of sparse.def; for predictions also hand-written ones, or all
  std::string workload;
  std::string bytes;  ///< of a rank, or for each destination
  bool per_pair = false;
  int per_node = 0;  ///< ranks of a node
  std::size_t in_flight = 32;
  std::uint64_t seed = 1;
};

/// Prints the moves of one rank of `ranks`, or with a file those of all, as JSON. `write` writes that.
int plan_sparse(const sparse_offline& a, int ranks, int rank, const std::string& json,
                void (*write)(const std::string& path, const std::string& text));

/// A prediction of `simulate` for an algorithm of the list or a hand-written one.
struct sparse_prediction {
  std::string_view algorithm;
  int ranks = 0;
  count_t bytes_per_rank = 0;   ///< of the rank that sends most
  std::optional<seconds> time;  ///< none: it has too many messages to be evaluated one by one
};

/// Of all that serve, message by message, on nodes with so many cores; 0: one for each rank. Throws usage where a
/// name is unknown, and where none serves.
std::vector<sparse_prediction> predict_sparse(const sparse_offline& a, const std::vector<count_t>& ranks,
                                              const machine_model& model, int cores);

/// A row of `explain` for an algorithm of the list or a hand-written one.
struct sparse_candidate {
  std::string_view algorithm;
  std::optional<seconds> time{};  ///< as above; none: it does not serve, or has too many messages
  bool by_hand = false;
  bool serves = true;
  bool chosen = false;
  std::string why{};
};

/// All of the list in its order, then the hand-written ones, on nodes with so many cores, and which `auto` takes where
/// a rank has `memory` bytes.
std::vector<sparse_candidate> explain_sparse(const sparse_offline& a, int ranks, std::size_t memory,
                                             const machine_model& model, int cores);

}  // namespace taquin::cli
