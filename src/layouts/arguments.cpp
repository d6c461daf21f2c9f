#include "layouts/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "layouts/access.hpp"

namespace taquin::detail {

std::string invalid_part(const layout& source, const layout& target, const layout_options& o) {
  const auto& from = source.dimensions();
  const auto& to = target.dimensions();
  const std::size_t n = from.size();
  if (to.size() != n) return fmt::format("the source has {} dimensions, the target {}", n, to.size());
  if (n > most_dimensions) return fmt::format("{} dimensions; at most {} are allowed", n, most_dimensions);
  std::vector<bool> named(n, false);
  for (const int a : o.axes) {
    if (o.axes.size() != n || a < 0 || as_size(a) >= n || named[as_size(a)])
      return fmt::format("the axes are no permutation of {} dimensions", n);
    named[as_size(a)] = true;
  }
  for (const auto* list : {&o.from_begin, &o.to_begin, &o.extents})
    if (!list->empty() && list->size() != n) return fmt::format("{} numbers for {} dimensions", list->size(), n);
  for (std::size_t d = 0; d < n; ++d) {
    const std::size_t there = o.axes.empty() ? d : as_size(o.axes[d]);
    const count_t extent = o.extents.empty() ? from[d].extent : o.extents[d];
    if (o.extents.empty() && o.from_begin.empty() && o.to_begin.empty() && extent != to[there].extent)
      return fmt::format("dimension {} of the source has {} indices, dimension {} of the target {}", d, extent, there,
                         to[there].extent);
    const auto outside = [&](const char* side, std::size_t k, const dimension& whole,
                             const std::vector<count_t>& list) {
      const count_t begin = list.empty() ? 0 : list[k];
      if (extent >= 0 && begin >= 0 && extent <= whole.extent && begin <= whole.extent - extent) return std::string();
      return fmt::format("dimension {} of the {}: {} indices from {} on are not inside its {}", k, side, extent, begin,
                         whole.extent);
    };
    if (auto wrong = outside("source", d, from[d], o.from_begin); !wrong.empty()) return wrong;
    if (auto wrong = outside("target", there, to[there], o.to_begin); !wrong.empty()) return wrong;
  }
  return {};
}

namespace {

struct array_side {
  const char* name;
  const layout* where;
  const void* array;
  std::size_t size;
  count_t bytes = 0;
};

std::string invalid_array(array_side& s, count_t element_bytes, int rank) {
  if (auto wrong = layout_access::invalid_storage(*s.where, rank, element_bytes); !wrong.empty()) return wrong;
  const count_t needed = s.where->local_size(rank);
  s.bytes = needed * element_bytes;
  if (needed > 0 && s.array == nullptr) return fmt::format("a null array for {} elements", needed);
  if (as_size(needed) > s.size) return fmt::format("an array of {} elements, {} are needed", s.size, needed);
  return {};
}

}  // namespace

std::optional<invalid_argument> check(const layout_arguments& x, const layout_options& o, const element& e, int rank,
                                      int ranks) {
  if (x.invalid_text != nullptr) return of_interface(x.invalid_text);
  if (x.type == MPI_DATATYPE_NULL) return invalid_argument{"null datatype", MPI_ERR_TYPE};
  if (!e.contiguous() || e.size == 0)
    return invalid_argument{fmt::format("the type has gaps or no data: {} bytes that span {}", e.size, e.extent),
                            MPI_ERR_TYPE};
  if (o.in_flight < 0) return invalid_argument{fmt::format("in_flight is {}", o.in_flight)};
  array_side sides[] = {{"source", x.from, x.from_array, x.from_size}, {"target", x.to, x.to_array, x.to_size}};
  for (const array_side& s : sides)
    if (const auto wrong = s.where->invalid_on(ranks); !wrong.empty())
      return invalid_argument{fmt::format("the {}: {}", s.name, wrong)};
  if (const auto wrong = invalid_part(*x.from, *x.to, o); !wrong.empty()) return invalid_argument{wrong};
  for (array_side& s : sides)
    if (const auto wrong = invalid_array(s, e.size, rank); !wrong.empty())
      return invalid_argument{fmt::format("the {}: {}", s.name, wrong), MPI_ERR_BUFFER};
  if (x.in_one_array) {
    if (!o.from_begin.empty() || !o.to_begin.empty() || !o.extents.empty())
      return invalid_argument{"a part of an array does not move in one array"};
    return std::nullopt;
  }
  const auto first = [](const array_side& s) { return reinterpret_cast<std::uintptr_t>(s.array); };
  const auto past = [&](const array_side& s) { return first(s) + as_size(s.bytes); };
  if (sides[0].bytes > 0 && sides[1].bytes > 0 && first(sides[0]) < past(sides[1]) && first(sides[1]) < past(sides[0]))
    return invalid_argument{"source and target overlap in memory", MPI_ERR_BUFFER};
  return std::nullopt;
}

}  // namespace taquin::detail
