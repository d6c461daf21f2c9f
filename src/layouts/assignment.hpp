// The assignment problem: each position gets a rank of its own, so that the sum of the weights is large.
#pragma once

#include <span>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::detail {

/// A position and a rank with a weight above 0; a pair that is not listed weighs 0.
struct weighted_pair {
  count_t weight;
  int position;
  int rank;
};

/// Up to so many positions times ranks best_assignment() costs at most about a second.
inline constexpr count_t most_exact_pairs = count_t{512} * 512;

/// Beyond so many pairs, which take 64 MiB, only heavy ones are looked at.
inline constexpr count_t most_pairs = count_t{1} << 22U;

/// The rank of each position, with the greatest sum of weights; `positions` ≤ `ranks`, each rank at most once, and −1
/// where all weights would be 0. Time: positions²·ranks; memory: 8 bytes for each position and rank.
///
/// Source: Jonker, Volgenant, A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment Problems.
std::vector<int> best_assignment(std::span<const weighted_pair> pairs, int positions, int ranks);

/// The same, with at least half of the greatest sum: the heaviest pair first, then the heaviest one whose position and
/// rank are free. (A pair that is left out shares its position or rank with a heavier one that was taken, and each of
/// those keeps out at most two pairs of a best assignment.) Time: that of sorting the pairs, which are reordered.
std::vector<int> greedy_assignment(std::span<weighted_pair> pairs, int positions, int ranks);

}  // namespace taquin::detail
