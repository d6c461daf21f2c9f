#include "local.hpp"

#include <algorithm>
#include <cmath>

namespace taquin::python {

namespace {

// By tiles that fit the first cache; elements of usual sizes are moved as integers of that size.
template <class Element>
void transpose_tiles(const std::byte* from, std::byte* to, std::size_t rows, std::size_t columns) {
  constexpr std::size_t tile = 16;
  for (std::size_t i0 = 0; i0 < rows; i0 += tile)
    for (std::size_t j0 = 0; j0 < columns; j0 += tile)
      for (std::size_t j = j0; j < std::min(columns, j0 + tile); ++j)
        for (std::size_t i = i0; i < std::min(rows, i0 + tile); ++i)
          std::memcpy(to + (j * rows + i) * sizeof(Element), from + (i * columns + j) * sizeof(Element),
                      sizeof(Element));
}

struct pair_of_words {
  std::uint64_t a, b;
};

void transpose_apart(const std::byte* from, std::byte* to, std::size_t rows, std::size_t columns, std::size_t element) {
  if (element == 4) return transpose_tiles<std::uint32_t>(from, to, rows, columns);
  if (element == 8) return transpose_tiles<std::uint64_t>(from, to, rows, columns);
  if (element == 16) return transpose_tiles<pair_of_words>(from, to, rows, columns);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to + (j * rows + i) * element, from + (i * columns + j) * element, element);
}

// Moves page k to place target[k], along cycles.
void permute_pages(std::byte* data, std::size_t page, std::pmr::vector<std::uint32_t>& target, std::byte* spare) {
  for (std::size_t k = 0; k < target.size(); ++k) {
    if (target[k] == k) continue;
    std::memcpy(spare, data + k * page, page);
    std::size_t to = target[k];  // of what the spare page holds
    target[k] = static_cast<std::uint32_t>(k);
    while (to != k) {
      std::swap_ranges(spare, spare + page, data + to * page);
      const std::size_t next = target[to];
      target[to] = static_cast<std::uint32_t>(to);
      to = next;
    }
    std::memcpy(data + k * page, spare, page);
  }
}

class transposer {
 public:
  transposer(std::size_t element, const transposition& t, std::pmr::memory_resource* memory)
      : element_(element), t_(t), memory_(memory), buffer_(t.buffer, std::byte{}, memory) {}

  void run(std::byte* data, std::size_t rows, std::size_t columns) {
    if (rows <= 1 || columns <= 1) return;
    const std::size_t bytes = rows * columns * element_;
    if (bytes <= t_.buffer) {
      std::memcpy(buffer_.data(), data, bytes);
      transpose_apart(buffer_.data(), data, rows, columns, element_);
      return;
    }
    const std::size_t groups = std::min(t_.groups, columns);
    group_columns(data, rows, columns, groups);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t first = begin(columns, groups, g);
      const std::size_t width = begin(columns, groups, g + 1) - first;
      run(data + first * rows * element_, rows, width);
    }
  }

 private:
  static std::size_t begin(std::size_t columns, std::size_t groups, std::size_t g) { return columns * g / groups; }

  // Afterwards group 0 of the columns comes first, as a matrix of its own, and so on.
  void group_columns(std::byte* data, std::size_t rows, std::size_t columns, std::size_t groups) {
    dealer d(groups, t_.page, memory_);
    std::pmr::vector<std::uint32_t> pages(rows * columns * element_ / t_.page, 0, memory_);
    std::pmr::vector<std::size_t> first(groups + 1, 0, memory_);  // page of each group
    std::size_t full = 0;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t g = 0; g < groups; ++g)
        d.deal(data, g, (begin(columns, groups, g + 1) - begin(columns, groups, g)) * element_, [&](std::size_t s) {
          pages[full++] = static_cast<std::uint32_t>(s);
          ++first[s + 1];
        });
    pages.resize(full);
    for (std::size_t g = 0; g < groups; ++g) first[g + 1] += first[g];
    for (auto& page : pages) page = static_cast<std::uint32_t>(first[page]++);  // now the end of each group
    std::pmr::vector<std::byte> spare(t_.page, std::byte{}, memory_);
    permute_pages(data, t_.page, pages, spare.data());
    for (std::size_t g = groups; g-- > 0;) {  // rests come in between: from the last group on, all moves go up
      const std::size_t from = g == 0 ? 0 : first[g - 1];
      std::byte* const to = data + begin(columns, groups, g) * rows * element_;
      const std::size_t bytes = (first[g] - from) * t_.page;
      std::memmove(to, data + from * t_.page, bytes);
      std::memcpy(to + bytes, d.rest(g), d.rest_bytes(g));
    }
  }

  std::size_t element_;
  transposition t_;
  std::pmr::memory_resource* memory_;
  std::pmr::vector<std::byte> buffer_;
};

}  // namespace

std::size_t transposition::footprint(std::size_t bytes) const noexcept {
  if (bytes <= buffer) return buffer;
  return buffer + dealer::footprint(groups, page) + page + sizeof(std::uint32_t) * (bytes / page) +
         sizeof(std::size_t) * (groups + 1);
}

transposition transposition::plan(std::size_t bytes, std::size_t element, std::size_t memory) noexcept {
  constexpr std::size_t page = 4096;
  const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(bytes) / page));
  transposition t;
  for (const std::size_t groups : {std::clamp<std::size_t>(root, 16, 512), std::size_t{16}, std::size_t{4}}) {
    for (const std::size_t p : {page, std::size_t{1024}}) {
      // A group is at most 1/groups of the matrix and one column more; small matrices are transposed at once.
      t = {groups, p, std::min(bytes, std::max<std::size_t>(bytes / groups + bytes / groups / 4, 64 * element))};
      for (; t.footprint(bytes) > memory && t.buffer / 2 >= 4 * element; t.buffer /= 2) continue;
      if (t.footprint(bytes) <= memory) return t;
    }
  }
  return t;
}

void transpose(std::byte* data, std::size_t rows, std::size_t columns, std::size_t element, const transposition& t,
               std::pmr::memory_resource* memory) {
  transposer(element, t, memory).run(data, rows, columns);
}

}  // namespace taquin::python
