#include "runs.hpp"

#include <algorithm>
#include <numeric>

namespace taquin::python {

namespace {

// The contribution of a part of axis k to the number of the rank.
std::size_t stride(const distribution& d, std::size_t k) {
  std::size_t s = 1;
  for (std::size_t i = k + 1; i < d.grid.size(); ++i) s *= d.grid[i];
  return s;
}

// The part of axis k that index i lies in. Of parts that begin there all but the last are empty.
std::size_t part_of(const distribution& d, std::size_t k, std::size_t i) {
  if (!d.even(k)) return static_cast<std::size_t>(std::ranges::upper_bound(d.bounds[k], i) - d.bounds[k].begin()) - 1;
  const std::size_t least = d.shape[k] / d.grid[k];
  const std::size_t longer = d.shape[k] % d.grid[k];
  return i < longer * (least + 1) ? i / (least + 1) : longer + (i - longer * (least + 1)) / least;
}

}  // namespace

std::size_t common_run(const distribution& a, const distribution& b) {
  std::size_t elements = 1;  // of the axes that neither cuts
  for (std::size_t k = a.shape.size(); k-- > 0;) {
    std::size_t divisor = a.shape[k];
    for (const auto* d : {&a, &b})
      for (std::size_t i = 1; i < d->grid[k]; ++i) divisor = std::gcd(divisor, d->begin(k, i));
    elements *= divisor;
    if (divisor != a.shape[k]) break;
  }
  return elements;
}

run_list::run_list(const distribution& mine, const distribution& theirs, std::size_t rank, std::size_t element) {
  const std::size_t axes = mine.shape.size();
  if (mine.volume(rank) == 0) return;
  const auto first = [&](std::size_t k) { return mine.begin(k, mine.part(k, rank)); };
  const auto end = [&](std::size_t k) { return mine.begin(k, mine.part(k, rank) + 1); };
  // The last axis on which the block is cut: those after it lie inside one part of the other distribution.
  std::size_t inner = element;
  std::size_t within = 0;
  std::size_t axis = axes;
  while (axis > 0) {
    --axis;
    const std::size_t part = part_of(theirs, axis, first(axis));
    if (part != part_of(theirs, axis, end(axis) - 1) || axis == 0) break;
    within += part * stride(theirs, axis);
    inner *= end(axis) - first(axis);
  }
  for (std::size_t i = first(axis); i < end(axis);) {
    const std::size_t part = part_of(theirs, axis, i);
    const std::size_t stop = std::min(end(axis), theirs.begin(axis, part + 1));
    segments_.push_back({within + part * stride(theirs, axis), (stop - i) * inner});
    i = stop;
  }
  for (std::size_t k = 0; k < axis; ++k) {
    auto& owners = outer_.emplace_back();
    for (std::size_t i = first(k); i < end(k); ++i) owners.push_back(part_of(theirs, k, i) * stride(theirs, k));
  }
}

}  // namespace taquin::python
