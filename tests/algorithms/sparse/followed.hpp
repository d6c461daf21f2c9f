// Follows every block of a sparse exchange through the moves that were drawn of it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "simulation/sparse_moves.hpp"

namespace taquin::detail {

/// Their error. Empty: every block arrives at its rank exactly once, from a rank that had it when the round began.
/// `by_nodes`: ranks read data that another rank of their node has received or has left in its memory.
std::string wrong_in(const sparse_pattern& x, const sparse_moves& m, bool by_nodes);

/// Whether ranks of a node read what another one of them has received.
inline bool reads_of_nodes(const sparse_algorithm& a) noexcept { return &a == &between_nodes_algorithm; }

}  // namespace taquin::detail
