#include "layouts/shape.hpp"

#include <algorithm>
#include <array>

#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"

namespace taquin::detail {

layout_shape::layout_shape(const layout& from, const layout& to, const layout_options& o,
                           std::pmr::memory_resource* memory)
    : from_(from),
      to_(to),
      options_(o),
      axes_(memory),
      order_(from.dimensions().size(), 0, memory),
      backwards_(from.dimensions().size(), 0, memory) {
  const std::size_t n = from.dimensions().size();
  const auto entry = [](const std::vector<count_t>& list, std::size_t d) { return list.empty() ? 0 : list[d]; };
  axes_.reserve(n);
  for (std::size_t d = 0; d < n; ++d) {
    const dimension& mine = from.dimensions()[d];
    axes_.push_back({&mine, &to.dimensions()[there(d)], entry(o.from_begin, d), entry(o.to_begin, there(d)),
                     o.extents.empty() ? mine.extent : o.extents[d]});
    backwards_[there(d)] = static_cast<int>(d);
  }
  // Axes of one element come first: they have no place in memory.
  std::size_t at = 0;
  for (const bool single : {true, false})
    for (std::size_t k = 0; k < n; ++k)
      if (const int d = layout_access::axis(from, k); (axes_[as_size(d)].extent <= 1) == single) order_[at++] = d;
  int fastest = order_.back();
  for (std::size_t k = 0; k < n; ++k)
    if (const int d = backwards_[as_size(layout_access::axis(to, k))]; axes_[as_size(d)].extent > 1) fastest = d;
  problem = {.axes = axes_, .order = order_, .fastest_there = fastest};
}

void layout_shape::sender(int rank, std::span<int> to) const { layout_access::coordinates(from_, rank, to); }

void layout_shape::receiver(int rank, std::span<int> to) const {
  layout_access::coordinates(to_, rank, to);
  if (to.front() == outside_grid || options_.axes.empty()) return;
  std::array<int, most_dimensions> in_target{};
  std::ranges::copy(to, in_target.begin());
  for (std::size_t d = 0; d < to.size(); ++d) to[d] = in_target[there(d)];
}

template <class Axis>
void layout_shape::set(local_side& s, const layout& l, int rank, count_t size, Axis axis) {
  const std::vector<count_t> owned = l.local_extents(rank);
  count_t stride = size;
  s.first = 0;
  for (std::size_t k = owned.size(); k-- > 0;) {
    const auto d = as_size(layout_access::axis(l, k));
    s.strides[axis(d)] = stride;
    s.first += layout_access::before(l, d) * stride;
    stride *= layout_access::allocated(l, d, owned[d]);
  }
}

void layout_shape::set_from(local_side& s, int rank, count_t size) const {
  set(s, from_, rank, size, [](std::size_t d) { return d; });
}
void layout_shape::set_to(local_side& s, int rank, count_t size) const {
  set(s, to_, rank, size, [&](std::size_t d) { return as_size(backwards_[d]); });
}

}  // namespace taquin::detail
