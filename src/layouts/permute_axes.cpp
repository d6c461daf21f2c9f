#include "layouts/permute_axes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t large_element = 2048;  // bytes: a bit for each is little beside them
constexpr std::size_t step_alignment = 128;  // of what a step allocates

std::size_t product(std::span<const count_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::size_t{1},
                         [](std::size_t all, count_t e) { return all * as_size(e); });
}

// The axis at `from` goes to place `to` behind it.
template <class T>
void bring_behind(std::span<T> list, std::size_t from, std::size_t to) {
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(from);
  std::rotate(at, at + 1, list.begin() + static_cast<std::ptrdiff_t>(to) + 1);
}

}  // namespace

axis_permutation::axis_permutation(std::span<const int> order, std::span<const count_t> most, std::size_t element,
                                   std::size_t space)
    : element_(element) {
  std::array<int, most_dimensions> axis{};
  std::array<count_t, most_dimensions> extent{};
  const auto now = std::span(axis).first(order.size());
  const auto extents = std::span(extent).first(order.size());
  std::iota(now.begin(), now.end(), 0);
  std::ranges::copy(most, extents.begin());
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto at = static_cast<std::size_t>(std::ranges::find(now, order[k]) - now.begin());
    if (at == k) continue;
    const std::size_t inner = product(extents.subspan(k + 1)) * element;
    const std::size_t matrix = product(extents.subspan(at, k + 1 - at));
    step s{.from = at, .to = k, .large = inner >= large_element, .how = {}, .bytes = step_alignment};
    if (s.large) {
      s.bytes += (matrix + 63) / 64 * sizeof(std::uint64_t);
    } else {
      s.how = transposition::plan(matrix * inner, inner, space - std::min(space, step_alignment));
      s.bytes += s.how.footprint(matrix * inner);
    }
    all_[count_++] = s;
    bring_behind(now, at, k);
    bring_behind(extents, at, k);
  }
}

std::size_t axis_permutation::bytes() const noexcept {
  std::size_t most = 0;
  for (const step& s : steps()) most = std::max(most, s.bytes);
  return most;
}

void axis_permutation::run(std::byte* data, std::span<const count_t> extents, std::span<std::byte> scratch) const {
  std::array<count_t, most_dimensions> now{};
  const auto all = std::span(now).first(extents.size());
  std::ranges::copy(extents, now.begin());
  for (const step& s : steps()) {
    const std::size_t matrices = product(all.first(s.from));
    const std::size_t rows = as_size(now[s.from]);
    const std::size_t columns = product(all.subspan(s.from + 1, s.to - s.from));
    const std::size_t inner = product(all.subspan(s.to + 1)) * element_;
    std::pmr::monotonic_buffer_resource memory(scratch.data(), scratch.size(), std::pmr::null_memory_resource());
    if (s.large) {
      transpose_large(data, matrices, rows, columns, inner, &memory);
    } else {
      transpose(data, matrices, rows, columns, inner, s.how, &memory);
    }
    bring_behind(all, s.from, s.to);
  }
}

}  // namespace taquin::detail
