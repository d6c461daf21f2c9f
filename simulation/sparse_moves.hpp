// The moves of all ranks in a sparse exchange, round by round and without MPI, for drawings.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "simulation/whole.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A block of a rank for another.
struct sparse_block {
  int to = 0;
  count_t bytes = 0;
};

/// The blocks of all ranks. A rank has at most one block for another.
struct sparse_pattern {
  std::vector<std::vector<sparse_block>> blocks;  ///< of each rank, by ascending destinations
  int per_node = 1;                               ///< ranks of a node that share memory; the last may have fewer
  std::size_t in_flight = 32;

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(blocks.size()); }
  [[nodiscard]] int node_of(int rank) const noexcept { return rank / per_node; }
  /// Of all ranks.
  [[nodiscard]] std::vector<int> nodes_of_ranks() const {
    std::vector<int> all;
    for (int rank = 0; rank < ranks(); ++rank) all.push_back(node_of(rank));
    return all;
  }
  [[nodiscard]] int nodes() const noexcept { return (ranks() + per_node - 1) / per_node; }
};

struct sparse_moves {
  // The stages of docs/internals/sparse.md. In a call of one step all rounds belong to `find`.
  static constexpr std::string_view agree = "agree";
  static constexpr std::string_view find = "find";
  static constexpr std::string_view agree_again = "agree again";
  static constexpr std::string_view move = "move";

  whole_moves all;
  std::vector<bool> synchronizes;        ///< before the round the ranks of each node wait for each other; shorter: not
  std::vector<bool> taken;               ///< senders of the round continue when all has been received; shorter: not
  std::vector<std::string_view> stages;  ///< of each round

  [[nodiscard]] bool synchronizes_at(std::size_t round) const noexcept {
    return round < synchronizes.size() && synchronizes[round];
  }
  [[nodiscard]] bool taken_at(std::size_t round) const noexcept { return round < taken.size() && taken[round]; }
  /// Removes rounds in which no rank does anything.
  void drop_empty_rounds();
};

/// The moves of a call in one step by an algorithm of sparse.def, without a memory limit. Reductions are drawn as
/// disseminations. A message's blocks are those whose data it carries; notices alone are not among them. Throws
/// too_many_messages. Returns why the algorithm does not serve the pattern, if it does not.
std::optional<std::string> add_sparse_moves(const sparse_algorithm& a, const sparse_pattern& x, sparse_moves& to);

/// The same of the hand-written algorithms, with assumptions about the MPI library: reductions as above; a nonblocking
/// barrier as a dissemination; counts in one round, or as a Bruck exchange from 16 ranks on; an alltoallv with a
/// message between any two ranks, as Open MPI has it.
void add_nbx_moves(const sparse_pattern& x, sparse_moves& to);
void add_counts_reduced_moves(const sparse_pattern& x, sparse_moves& to);
void add_counts_exchanged_moves(const sparse_pattern& x, sparse_moves& to);

/// The moves as schedules of each rank, to be evaluated: a rank is in a round when it has ended the one before, and
/// where the ranks of a node synchronize, when all of them have. They cannot be run: they have no places of data.
std::vector<schedule> schedules_of(const sparse_moves& m, int ranks);

}  // namespace taquin::detail
