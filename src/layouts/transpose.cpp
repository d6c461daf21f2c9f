#include "layouts/transpose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "layouts/grouping.hpp"

namespace taquin::detail {

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

void transpose_apart(const std::byte* from, std::byte* to, std::size_t rows, std::size_t columns, std::size_t element) {
  if (element == 4) return transpose_tiles<std::uint32_t>(from, to, rows, columns);
  if (element == 8) return transpose_tiles<std::uint64_t>(from, to, rows, columns);
  if (element == 16) return transpose_tiles<std::array<std::uint64_t, 2>>(from, to, rows, columns);
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to + (j * rows + i) * element, from + (i * columns + j) * element, element);
}

// Makes a permutation of fewer than 2^31 its inverse, cycle by cycle. The upper bit marks the places that are done.
void invert(std::span<std::uint32_t> target) {
  constexpr std::uint32_t done = std::uint32_t{1} << 31U;
  for (std::uint32_t k = 0; k < target.size(); ++k) {
    if ((target[k] & done) != 0) {
      target[k] &= ~done;
      continue;
    }
    std::uint32_t before = k;
    for (std::uint32_t at = target[k]; at != k;) {
      const std::uint32_t next = target[at];
      target[at] = before | done;
      before = at;
      at = next;
    }
    target[k] = before;
  }
}

class transposer {
 public:
  // For matrices of at most `most` bytes.
  transposer(std::size_t element, const transposition& t, std::size_t most, std::pmr::memory_resource* memory)
      : element_(element), t_(t), buffer_(t.buffer, std::byte{}, memory) {
    if (most > t.buffer) columns_.emplace(t.groups, t.page, most, memory);
  }

  void run(std::byte* data, std::size_t rows, std::size_t columns) {
    if (rows <= 1 || columns <= 1) return;
    const std::size_t bytes = rows * columns * element_;
    if (bytes <= t_.buffer) {
      std::memcpy(buffer_.data(), data, bytes);
      transpose_apart(buffer_.data(), data, rows, columns, element_);
      return;
    }
    const std::size_t groups = std::min(t_.groups, columns);
    if ((columns + groups - 1) / groups * rows * element_ <= t_.buffer) {  // no group is split again
      group_columns(data, rows, columns, groups, [&](std::size_t g, const grouping::parts& p) {
        std::memcpy(buffer_.data(), p.pages, p.bytes);
        std::memcpy(buffer_.data() + p.bytes, p.rest, p.rest_bytes);
        transpose_apart(buffer_.data(), p.to, rows, width(columns, groups, g), element_);
      });
      return;
    }
    group_columns(data, rows, columns, groups, grouping::put_together);
    for (std::size_t g = 0; g < groups; ++g) {
      run(data + begin(columns, groups, g) * rows * element_, rows, width(columns, groups, g));
    }
  }

 private:
  static std::size_t begin(std::size_t columns, std::size_t groups, std::size_t g) { return columns * g / groups; }

  static std::size_t width(std::size_t columns, std::size_t groups, std::size_t g) {
    return begin(columns, groups, g + 1) - begin(columns, groups, g);
  }

  // Group 0 of the columns comes first, as a matrix of its own, and so on: `put` brings each to its place.
  template <class Put>
  void group_columns(std::byte* data, std::size_t rows, std::size_t columns, std::size_t groups, Put put) {
    const auto forward = [&](auto run) {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t g = 0; g < groups; ++g) run(g, width(columns, groups, g) * element_);
    };
    columns_->group(data, forward, put);
  }

  std::size_t element_;
  transposition t_;
  std::pmr::vector<std::byte> buffer_;
  std::optional<grouping> columns_;  // where a matrix is larger than the buffer
};

}  // namespace

void permute_pages(std::byte* data, std::size_t page_bytes, std::span<std::uint32_t> target, std::byte* spare) {
  invert(target);
  gather_pages(data, page_bytes, target, spare);
}

void gather_pages(std::byte* data, std::size_t page_bytes, std::span<std::uint32_t> source, std::byte* spare) {
  for (std::size_t k = 0; k < source.size(); ++k) {
    if (source[k] == k) continue;
    std::memcpy(spare, data + k * page_bytes, page_bytes);
    std::size_t at = k;
    while (source[at] != k) {
      const std::size_t from = source[at];
      std::memcpy(data + at * page_bytes, data + from * page_bytes, page_bytes);
      source[at] = static_cast<std::uint32_t>(at);
      at = from;
    }
    std::memcpy(data + at * page_bytes, spare, page_bytes);
    source[at] = static_cast<std::uint32_t>(at);
  }
}

std::size_t transposition::footprint(std::size_t bytes) const noexcept {
  if (bytes <= buffer) return buffer;
  return buffer + grouping::bytes(groups, page, bytes);
}

transposition transposition::plan(std::size_t bytes, std::size_t element, std::size_t memory) noexcept {
  constexpr std::size_t usual = 4096;
  const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(bytes) / usual));
  transposition least{.buffer = bytes};
  // A group is at most 1/groups of the matrix and one column more; small matrices fit the buffer. Groups that
  // are split again take as much time once more, so that smaller pages come first.
  for (const bool split : {false, true})
    for (const std::size_t groups : {std::clamp<std::size_t>(root, 16, 512), std::clamp<std::size_t>(2 * root, 16, 512),
                                     std::size_t{16}, std::size_t{4}})
      for (const std::size_t page : {usual, std::size_t{1024}, 4 * usual, 16 * usual}) {
        transposition t{groups, page,
                        std::min(bytes, std::max<std::size_t>(bytes / groups + bytes / groups / 4, 64 * element))};
        for (; split && t.footprint(bytes) > memory && t.buffer / 2 >= 4 * element; t.buffer /= 2) continue;
        if (t.footprint(bytes) <= memory) return t;
        if (t.footprint(bytes) < least.footprint(bytes)) least = t;
      }
  return least;
}

void transpose(std::byte* data, std::size_t matrices, std::size_t rows, std::size_t columns, std::size_t element,
               const transposition& t, std::pmr::memory_resource* memory) {
  const std::size_t bytes = rows * columns * element;
  transposer one(element, t, bytes, memory);
  for (std::size_t k = 0; k < matrices; ++k) one.run(data + k * bytes, rows, columns);
}

void transpose_large(std::byte* data, std::size_t matrices, std::size_t rows, std::size_t columns, std::size_t element,
                     std::pmr::memory_resource* memory) {
  if (rows <= 1 || columns <= 1) return;
  const std::size_t all = rows * columns;
  std::pmr::vector<std::uint64_t> moved((all + 63) / 64, 0, memory);
  // Element k = i·columns + j goes to j·rows + i.
  const auto target = [&](std::size_t k) { return k % columns * rows + k / columns; };
  for (std::size_t m = 0; m < matrices; ++m, data += all * element) {
    std::ranges::fill(moved, std::uint64_t{0});
    for (std::size_t k = 0; k < all; ++k) {
      if ((moved[k / 64] >> (k % 64) & 1U) != 0) continue;
      // The element at k changes places with that at each next place of its cycle.
      for (std::size_t to = target(k); to != k; to = target(to)) {
        std::swap_ranges(data + k * element, data + (k + 1) * element, data + to * element);
        moved[to / 64] |= std::uint64_t{1} << (to % 64);
      }
    }
  }
}

}  // namespace taquin::detail
