#include "layouts/copy_chunk.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

// Elements of usual sizes are moved as integers; others byte by byte, `size` of them.
template <class Word>
struct word_element {
  static constexpr count_t size = sizeof(Word);
  void copy(const std::byte* from, std::byte* to) const noexcept {
    Word w;
    std::memcpy(&w, from, sizeof(Word));
    std::memcpy(to, &w, sizeof(Word));
  }
};
struct any_element {
  count_t size;
  void copy(const std::byte* from, std::byte* to) const noexcept { std::memcpy(to, from, as_size(size)); }
};

// `From` and `To`: the member of a run that is its place on each side.
template <class Element, auto From, auto To>
class copy_loops {
 public:
  copy_loops(std::span<const copied_axis> axes, Element e) noexcept : axes_(axes), element_(e) {
    one_by_one_ = axes.back().count == as_size(axes.back().length);
    evenly_spaced_ = one_by_one_ && is_evenly_spaced(std::span(axes.back().runs, axes.back().count));
    contiguous_ = axes.back().from_stride == e.size && axes.back().to_stride == e.size;
    transposes_ = axes.size() > 1 && !contiguous_ && axes[axes.size() - 2].from_stride == e.size;
  }

  void run(const std::byte* from, std::byte* to) const noexcept { axis(0, from, to); }

 private:
  void axis(std::size_t k, const std::byte* from, std::byte* to) const noexcept {
    const copied_axis& a = axes_[k];
    if (k + 1 == axes_.size()) return row(a, from, to);
    for (const axis_run& r : std::span(a.runs, a.count)) {
      const std::byte* f = from + r.*From * a.from_stride;
      std::byte* t = to + r.*To * a.to_stride;
      count_t left = r.length;
      if (transposes_ && k + 2 == axes_.size())
        for (; left >= tile; left -= tile, f += tile * a.from_stride, t += tile * a.to_stride) rows(a, f, t);
      for (; left > 0; --left, f += a.from_stride, t += a.to_stride) axis(k + 1, f, t);
    }
  }

  // Each element as far from the one before as the second from the first, on both sides.
  static bool is_evenly_spaced(std::span<const axis_run> runs) noexcept {
    if (runs.size() < 3) return false;
    const count_t from = runs[1].*From - runs[0].*From;
    const count_t to = runs[1].*To - runs[0].*To;
    bool even = true;
    for (std::size_t k = 2; k < runs.size(); ++k)
      even &= runs[k].*From - runs[k - 1].*From == from && runs[k].*To - runs[k - 1].*To == to;
    return even;
  }

  // Along the axis that changes fastest in the target.
  void row(const copied_axis& a, const std::byte* from, std::byte* to) const noexcept {
    if (evenly_spaced_) {
      const count_t from_step = (a.runs[1].*From - a.runs[0].*From) * a.from_stride;
      const count_t to_step = (a.runs[1].*To - a.runs[0].*To) * a.to_stride;
      const std::byte* f = from + a.runs[0].*From * a.from_stride;
      std::byte* t = to + a.runs[0].*To * a.to_stride;
      for (std::size_t k = 0; k < a.count; ++k, f += from_step, t += to_step) element_.copy(f, t);
      return;
    }
    if (one_by_one_) {
      for (const axis_run* r = a.runs; r != a.runs + a.count; ++r)
        element_.copy(from + r->*From * a.from_stride, to + r->*To * a.to_stride);
      return;
    }
    for (const axis_run* r = a.runs; r != a.runs + a.count; ++r) {
      const std::byte* f = from + r->*From * a.from_stride;
      std::byte* t = to + r->*To * a.to_stride;
      if (contiguous_) {
        std::memcpy(t, f, as_size(r->length * element_.size));
        continue;
      }
      for (count_t i = 0; i < r->length; ++i, f += a.from_stride, t += a.to_stride) element_.copy(f, t);
    }
  }

  // The same for `tile` rows, whose elements lie beside each other in the source.
  static constexpr count_t tile = 8;
  void rows(const copied_axis& beside, const std::byte* from, std::byte* to) const noexcept {
    const copied_axis& a = axes_.back();
    for (const axis_run* r = a.runs; r != a.runs + a.count; ++r) {
      const std::byte* f = from + r->*From * a.from_stride;
      std::byte* t = to + r->*To * a.to_stride;
      for (count_t i = 0; i < r->length; ++i, f += a.from_stride, t += a.to_stride)
        for (count_t k = 0; k < tile; ++k) element_.copy(f + k * beside.from_stride, t + k * beside.to_stride);
    }
  }

  std::span<const copied_axis> axes_;
  Element element_;
  bool one_by_one_;
  bool evenly_spaced_;
  bool contiguous_;
  bool transposes_;
};

template <auto From, auto To>
void copy_elements(std::span<const copied_axis> axes, std::size_t element, const std::byte* from,
                   std::byte* to) noexcept {
  const auto with = [&](auto e) { copy_loops<decltype(e), From, To>(axes, e).run(from, to); };
  switch (element) {
    case 1:
      return with(word_element<std::uint8_t>{});
    case 2:
      return with(word_element<std::uint16_t>{});
    case 4:
      return with(word_element<std::uint32_t>{});
    case 8:
      return with(word_element<std::uint64_t>{});
    case 16:
      return with(word_element<std::array<std::uint64_t, 2>>{});
    default:
      return with(any_element{static_cast<count_t>(element)});
  }
}

}  // namespace

// The axis that changes fastest in the target comes last, and before it the one of the others that changes fastest in
// the source. Axes of one element come first.
template <class Stride>
void chunk_copier::set_axes(const chunk_walk& chunk, Stride strides) {
  auto dense = static_cast<count_t>(element_);
  const auto& order = chunk.problem().order;
  for (std::size_t k = order.size(); k-- > 0;) {
    const auto d = as_size(order[k]);
    const auto& a = chunk.axis(d);
    const auto [from, to] = strides(d, dense);
    axes_[k] = {chunk.runs(d).data(), a.runs, from, to, a.length};
    dense *= a.length;
  }
  const auto by = [](count_t copied_axis::*stride) {
    return [stride](const copied_axis& a) { return a.length == 1 ? std::numeric_limits<count_t>::max() : a.*stride; };
  };
  std::ranges::sort(axes_, std::ranges::greater{}, by(&copied_axis::to_stride));
  if (axes_.size() > 2)
    std::ranges::sort(axes_.begin(), axes_.end() - 1, std::ranges::greater{}, by(&copied_axis::from_stride));
}

template <auto From, auto To>
void chunk_copier::write_part(const chunk_walk& chunk, const std::byte* from, std::span<const count_t> from_strides,
                              std::byte* to, std::span<const count_t> to_strides) const {
  const bool upper = part_.part == written_part::kind::upper;
  for (const axis_run& column : chunk.runs(1))
    for (count_t c = 0; c < column.length; ++c) {
      const count_t border = column.index + c + part_.shift;
      for (const axis_run& row : chunk.runs(0)) {
        const count_t begin = upper ? 0 : std::clamp<count_t>(border - row.index, 0, row.length);
        const count_t end = upper ? std::clamp<count_t>(border - row.index + 1, 0, row.length) : row.length;
        const std::byte* f = from + (row.*From + begin) * from_strides[0] + (column.*From + c) * from_strides[1];
        std::byte* t = to + (row.*To + begin) * to_strides[0] + (column.*To + c) * to_strides[1];
        for (count_t i = begin; i < end; ++i, f += from_strides[0], t += to_strides[0]) std::memcpy(t, f, element_);
      }
    }
}

void chunk_copier::pack(const chunk_walk& chunk, const local_array& from, std::byte* message) {
  set_axes(chunk, [&](std::size_t d, count_t dense) { return std::pair(from.strides[d], dense); });
  copy_elements<&axis_run::from, &axis_run::at>(axes_, element_, from.first, message);
}

void chunk_copier::unpack(const chunk_walk& chunk, const std::byte* message, const local_array& to) {
  if (part_.part != written_part::kind::all) {
    std::array<count_t, 2> dense{};
    auto stride = static_cast<count_t>(element_);
    for (std::size_t k = 2; k-- > 0;) {
      const auto d = as_size(chunk.problem().order[k]);
      dense[d] = stride;
      stride *= chunk.axis(d).length;
    }
    return write_part<&axis_run::at, &axis_run::to>(chunk, message, dense, to.first, to.strides);
  }
  set_axes(chunk, [&](std::size_t d, count_t dense) { return std::pair(dense, to.strides[d]); });
  copy_elements<&axis_run::at, &axis_run::to>(axes_, element_, message, to.first);
}

void chunk_copier::copy(const chunk_walk& chunk, const local_array& from, const local_array& to) {
  if (part_.part != written_part::kind::all)
    return write_part<&axis_run::from, &axis_run::to>(chunk, from.first, from.strides, to.first, to.strides);
  set_axes(chunk, [&](std::size_t d, count_t) { return std::pair(from.strides[d], to.strides[d]); });
  copy_elements<&axis_run::from, &axis_run::to>(axes_, element_, from.first, to.first);
}

}  // namespace taquin::detail
