// Random redistributions between layouts, and what each rank holds before and afterwards, element by element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "taquin/layout.hpp"

namespace taquin::test {

/// Which process owns each index of a dimension, counted index by index, and its number among those of its owner.
struct flat_dimension {
  std::vector<int> owner;
  std::vector<count_t> local;
};

inline flat_dimension flat(const dimension& d) {
  flat_dimension f;
  std::vector<count_t> owned(static_cast<std::size_t>(d.processes), 0);
  std::vector<count_t> even(static_cast<std::size_t>(d.processes), d.extent / d.processes);
  for (count_t i = 0; i < d.extent % d.processes; ++i) ++even[static_cast<std::size_t>(i)];
  int process = 0;
  count_t within = 0;
  for (count_t i = 0; i < d.extent; ++i) {
    if (d.block > 0) {
      process = static_cast<int>((i / d.block + d.first) % d.processes);
    } else if (!d.bounds.empty()) {
      while (i >= d.bounds[static_cast<std::size_t>(process) + 1]) ++process;
    } else {
      while (within == even[static_cast<std::size_t>(process)]) ++process, within = 0;
      ++within;
    }
    f.owner.push_back(process);
    f.local.push_back(owned[static_cast<std::size_t>(process)]++);
  }
  return f;
}

/// One side: the layout, and what it was made of.
struct flat_layout {
  layout made;
  std::vector<dimension> dimensions;
  std::vector<int> ranks;  // of the grid's positions
  bool fortran_grid = false;
  std::vector<int> storage;  // axes, slowest first
  std::vector<count_t> before, after;

  /// Rank and offset of every element, in row-major order of the indices.
  struct place {
    int rank;
    count_t offset;
  };
  [[nodiscard]] std::vector<place> places() const {
    const std::size_t n = dimensions.size();
    std::vector<flat_dimension> by;
    std::vector<std::vector<count_t>> owned(n);
    count_t total = 1;
    for (std::size_t d = 0; d < n; ++d) {
      by.push_back(flat(dimensions[d]));
      owned[d].resize(static_cast<std::size_t>(dimensions[d].processes), 0);
      for (const int o : by[d].owner) ++owned[d][static_cast<std::size_t>(o)];
      total *= dimensions[d].extent;
    }
    std::vector<place> all;
    std::vector<std::size_t> index(n, 0);
    for (count_t e = 0; e < total; ++e) {
      count_t position = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t d = fortran_grid ? n - 1 - k : k;
        position = position * dimensions[d].processes + by[d].owner[index[d]];
      }
      count_t offset = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const auto d = static_cast<std::size_t>(storage[k]);
        const auto mine = static_cast<std::size_t>(by[d].owner[index[d]]);
        offset = offset * (owned[d][mine] + before[d] + after[d]) + before[d] + by[d].local[index[d]];
      }
      all.push_back({ranks[static_cast<std::size_t>(position)], offset});
      for (std::size_t d = n; d-- > 0;) {
        if (++index[d] < static_cast<std::size_t>(dimensions[d].extent)) break;
        index[d] = 0;
      }
    }
    return all;
  }
};

/// `pick(a, b)`: a number from a to b; the lower, the simpler.
template <class Pick>
flat_layout some_layout(Pick& pick, const std::vector<count_t>& extents, int ranks) {
  flat_layout f;
  const std::size_t n = extents.size();
  int left = ranks;
  for (std::size_t d = 0; d < n; ++d) {
    const int p = pick(1, left);
    left /= p;
    const count_t e = extents[d];
    switch (pick(0, 4)) {
      case 0:
        f.dimensions.push_back(dimension::even(e, p));
        break;
      case 1:
        f.dimensions.push_back(dimension::block_of(e, p));
        break;
      case 2:
        f.dimensions.push_back(dimension::cyclic(e, p, pick(0, p - 1)));
        break;
      case 3:
        f.dimensions.push_back(dimension::block_cyclic(e, p, pick(1, 5), pick(0, p - 1)));
        break;
      default: {
        std::vector<count_t> lengths(static_cast<std::size_t>(p), 0);
        for (count_t i = 0; i < e; ++i) ++lengths[static_cast<std::size_t>(pick(0, p - 1))];
        f.dimensions.push_back(dimension::given(lengths));
      }
    }
  }
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto shuffle = [&](std::vector<int>& list) {
    for (std::size_t i = 0; i + 1 < list.size(); ++i)
      std::swap(list[i], list[i + static_cast<std::size_t>(pick(0, static_cast<int>(list.size() - i) - 1))]);
  };
  const bool placed = pick(0, 1) == 1;
  if (placed) shuffle(all);
  f.storage.resize(n);
  std::iota(f.storage.begin(), f.storage.end(), 0);
  shuffle(f.storage);
  f.fortran_grid = pick(0, 1) == 1;
  f.made = layout(f.dimensions, storage_order::c, f.fortran_grid ? storage_order::fortran : storage_order::c);
  f.made.stored(f.storage);
  all.resize(static_cast<std::size_t>(f.made.processes()));
  f.ranks = all;
  if (placed) f.made.on_ranks(f.ranks);
  const bool halo = pick(0, 2) == 2;
  for (std::size_t d = 0; d < n; ++d) {
    f.before.push_back(halo ? pick(0, 2) : 0);
    f.after.push_back(halo ? pick(0, 2) : 0);
  }
  if (halo) f.made.halo(f.before, f.after);
  return f;
}

struct layout_case {
  int ranks = 1;
  std::size_t element = 8;
  flat_layout from;
  flat_layout to;
  layout_options options;

  /// A byte of an element of the source, in row-major order.
  static std::byte value(std::size_t element_number, std::size_t byte) {
    return static_cast<std::byte>((element_number * 2654435761U + byte * 97U) >> 5U);
  }
  static constexpr std::byte untouched{0xab};

  using arrays = std::vector<std::vector<std::byte>>;  // of each rank

  [[nodiscard]] arrays before() const {
    arrays all = empty(from);
    std::size_t e = 0;
    for (const auto& p : from.places()) {
      for (std::size_t b = 0; b < element; ++b)
        all[static_cast<std::size_t>(p.rank)][static_cast<std::size_t>(p.offset) * element + b] = value(e, b);
      ++e;
    }
    return all;
  }
  [[nodiscard]] arrays empty(const flat_layout& side) const {
    arrays all;
    for (int r = 0; r < ranks; ++r)
      all.emplace_back(static_cast<std::size_t>(side.made.local_size(r)) * element, untouched);
    return all;
  }
  [[nodiscard]] arrays after() const {
    arrays all = empty(to);
    const auto places = to.places();
    const std::size_t n = from.dimensions.size();
    std::vector<count_t> index(n, 0);
    count_t total = 1;
    for (const auto& d : from.dimensions) total *= d.extent;
    for (count_t e = 0; e < total; ++e) {
      bool inside = true;
      std::vector<count_t> there(n, 0);
      for (std::size_t d = 0; d < n; ++d) {
        const count_t i = index[d] - (options.from_begin.empty() ? 0 : options.from_begin[d]);
        const count_t extent = options.extents.empty() ? from.dimensions[d].extent : options.extents[d];
        inside = inside && i >= 0 && i < extent;
        const auto t = options.axes.empty() ? d : static_cast<std::size_t>(options.axes[d]);
        there[t] = i + (options.to_begin.empty() ? 0 : options.to_begin[t]);
      }
      if (inside) {
        std::size_t at = 0;
        for (std::size_t d = 0; d < n; ++d)
          at = at * static_cast<std::size_t>(to.dimensions[d].extent) + static_cast<std::size_t>(there[d]);
        for (std::size_t b = 0; b < element; ++b)
          all[static_cast<std::size_t>(places[at].rank)][static_cast<std::size_t>(places[at].offset) * element + b] =
              value(static_cast<std::size_t>(e), b);
      }
      for (std::size_t d = n; d-- > 0;) {
        if (++index[d] < from.dimensions[d].extent) break;
        index[d] = 0;
      }
    }
    return all;
  }
};

template <class Pick>
layout_case some_case(Pick& pick, int ranks) {
  layout_case c;
  c.ranks = ranks;
  c.element = static_cast<std::size_t>(pick(1, 24));
  const auto n = static_cast<std::size_t>(pick(1, 5));
  const int most = n == 1 ? 60 : n == 2 ? 25 : n == 3 ? 9 : n == 4 ? 6 : 4;
  std::vector<count_t> extents;
  for (std::size_t d = 0; d < n; ++d) extents.push_back(pick(0, 12) == 12 ? 0 : pick(1, most));
  c.from = some_layout(pick, extents, ranks);
  std::vector<count_t> there = extents;
  if (pick(0, 1) == 1) {
    c.options.axes.resize(n);
    std::iota(c.options.axes.begin(), c.options.axes.end(), 0);
    for (std::size_t i = 0; i + 1 < n; ++i)
      std::swap(c.options.axes[i], c.options.axes[i + static_cast<std::size_t>(pick(0, static_cast<int>(n - i) - 1))]);
    for (std::size_t d = 0; d < n; ++d) there[static_cast<std::size_t>(c.options.axes[d])] = extents[d];
  }
  if (pick(0, 2) == 2) {  // a part, in a target of another extent
    c.options.from_begin.resize(n);
    c.options.to_begin.resize(n);
    c.options.extents.resize(n);
    for (std::size_t d = 0; d < n; ++d) {
      const auto t = c.options.axes.empty() ? d : static_cast<std::size_t>(c.options.axes[d]);
      c.options.from_begin[d] = pick(0, static_cast<int>(extents[d]));
      c.options.extents[d] = pick(0, static_cast<int>(extents[d] - c.options.from_begin[d]));
      c.options.to_begin[t] = pick(0, 4);
      there[t] = c.options.to_begin[t] + c.options.extents[d] + pick(0, 3);
    }
  }
  c.to = some_layout(pick, there, ranks);
  return c;
}

}  // namespace taquin::test
