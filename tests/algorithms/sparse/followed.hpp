// Follows every block of a sparse exchange through the moves that were drawn of it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "simulation/sparse_moves.hpp"

namespace taquin::detail {

/// What is wrong with them; empty: every block comes to its rank exactly once, sent by a rank that had it when the round
/// began. `by_nodes`: what has come to a node or lies there its ranks read, and one of them is enough for all.
std::string wrong_in(const sparse_pattern& x, const sparse_moves& m, bool by_nodes);

/// Whether ranks of a node read what another one of them has received.
inline bool reads_of_nodes(const sparse_algorithm& a) noexcept { return &a == &between_nodes_way; }

}  // namespace taquin::detail
