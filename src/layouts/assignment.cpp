#include "layouts/assignment.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

constexpr int none = -1;

// Rows are assigned one after the other. Prices of rows and columns keep the cost of each pair at least 0 and that of
// each pair taken 0, so that a shortest path from the new row to a free column leads to a best assignment.
class augmenting_paths {
 public:
  augmenting_paths(std::span<const weighted_pair> pairs, int rows, int columns)
      : columns_(as_size(columns)),
        costs_(as_size(rows) * columns_, 0),
        row_price_(as_size(rows), 0),
        column_price_(columns_, 0),
        row_of_(columns_, none),
        distance_(columns_, 0),
        before_(columns_, none),
        visited_(columns_, false) {
    for (const weighted_pair& p : pairs) costs_[as_size(p.position) * columns_ + as_size(p.rank)] -= p.weight;
  }

  void add(int row) {
    std::ranges::fill(distance_, std::numeric_limits<count_t>::max());
    visited_.assign(columns_, false);
    int at = row;
    int from = none;  // the column through which the path came to the row
    count_t length = 0;
    int to = none;
    for (;;) {
      to = nearest(at, from, length);
      length = distance_[as_size(to)];
      if (row_of_[as_size(to)] == none) break;
      visited_[as_size(to)] = true;
      at = row_of_[as_size(to)];
      from = to;
    }
    row_price_[as_size(row)] += length;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (!visited_[c]) continue;
      row_price_[as_size(row_of_[c])] += length - distance_[c];
      column_price_[c] -= length - distance_[c];
    }
    for (; to != none; to = before_[as_size(to)]) {
      const int previous = before_[as_size(to)];
      row_of_[as_size(to)] = previous == none ? row : row_of_[as_size(previous)];
    }
  }

  [[nodiscard]] std::vector<int> column_of_rows() const {
    std::vector<int> columns(row_price_.size(), none);
    for (std::size_t c = 0; c < columns_; ++c)
      if (row_of_[c] != none && costs_[as_size(row_of_[c]) * columns_ + c] < 0)
        columns[as_size(row_of_[c])] = static_cast<int>(c);
    return columns;
  }

 private:
  // Goes on from a row that is `length` away; the nearest column that was not visited.
  int nearest(int row, int from, count_t length) {
    std::size_t best = columns_;
    for (std::size_t c = 0; c < columns_; ++c) {
      if (visited_[c]) continue;
      const count_t there = length + costs_[as_size(row) * columns_ + c] - row_price_[as_size(row)] - column_price_[c];
      if (there < distance_[c]) {
        distance_[c] = there;
        before_[c] = from;
      }
      if (best == columns_ || distance_[c] < distance_[best]) best = c;
    }
    return static_cast<int>(best);
  }

  std::size_t columns_;
  std::vector<count_t> costs_;
  std::vector<count_t> row_price_;
  std::vector<count_t> column_price_;
  std::vector<int> row_of_;        // of a column
  std::vector<count_t> distance_;  // of a column from the new row
  std::vector<int> before_;        // the column before it on the path
  std::vector<bool> visited_;
};

}  // namespace

std::vector<int> best_assignment(std::span<const weighted_pair> pairs, int positions, int ranks) {
  augmenting_paths paths(pairs, positions, ranks);
  for (int p = 0; p < positions; ++p) paths.add(p);
  return paths.column_of_rows();
}

std::vector<int> greedy_assignment(std::span<weighted_pair> pairs, int positions, int ranks) {
  std::ranges::sort(pairs, {}, [](const weighted_pair& p) { return std::tuple(-p.weight, p.position, p.rank); });
  std::vector<int> rank_of(as_size(positions), none);
  std::vector<bool> taken(as_size(ranks), false);
  for (const weighted_pair& p : pairs) {
    if (rank_of[as_size(p.position)] != none || taken[as_size(p.rank)]) continue;
    rank_of[as_size(p.position)] = p.rank;
    taken[as_size(p.rank)] = true;
  }
  return rank_of;
}

}  // namespace taquin::detail
