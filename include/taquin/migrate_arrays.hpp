// Migration of several arrays whose items belong together: a structure of arrays.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "taquin/migrate.hpp"

namespace taquin {

namespace detail {

/// Fills in the destinations of `items`, by a function of the item's index or by a range.
template <class Destination>
std::string fill_by_index(migration& m, std::size_t items, Destination& destination) {
  const auto to = m.destinations();
  std::size_t k = 0;
  if constexpr (std::invocable<Destination&, std::size_t>) {
    for (; k < items; ++k) {
      const auto r = std::invoke(destination, k);
      if (!as_int(r, to[k])) return no_rank(k, r);
    }
  } else {
    if (std::ranges::size(destination) != items) return "not one destination per element";
    for (const auto r : destination) {
      if (!as_int(r, to[k])) return no_rank(k, r);
      ++k;
    }
  }
  return {};
}

template <class C>
void grow(C& c, std::size_t items) {
  if constexpr (requires { c.reserve(items); })
    if (items > capacity_of(c)) c.reserve(items);
  if (items > std::ranges::size(c)) c.resize(items);
}

}  // namespace detail

/// Sends item k of every array to rank `destination(k)`, or to the k-th rank of a range of destinations. Afterwards
/// each array holds what arrived, ordered by source and then by position there, so that items with the same index still
/// belong together. The arrays are contiguous containers with resize(), of any trivially copyable types; their items
/// are sent as bytes.
///
/// One agreement and one permutation serve all arrays; their memory is that of one migration, with l the bytes of the
/// widest item, and while the arrays grow that of the largest one's old storage. Arrays that follow each other, up to
/// 16 of them, move together through one exchange where the memory holds at least 64 items of all of them, and 1024
/// bytes for each array, beside the exchange's own; arrays that do not move together move one after the other.
/// Collective, blocking. Errors as of migrate() for one array, and usage_error on every rank where the arrays of a rank
/// have different lengths; then all arrays are kept. After a failure in the middle failure::blocks() has the map of the
/// arrays that were being moved: those before them have moved, and those after them are sorted by destination. Its
/// `unit_bytes` are those of an item of all these arrays, which follow each other in `staged`, item by item.
template <class Destination, class First, class... More>
requires detail::growable<First> &&
    (detail::growable<More>&&...) void migrate(Destination&& destination, MPI_Comm comm, const redistribute_options& o,
                                               First& first, More&... more) {
  using detail::guard;
  using detail::reported;
  const std::array arrays{detail::array_of<std::ranges::range_value_t<First>>(MPI_DATATYPE_NULL),
                          detail::array_of<std::ranges::range_value_t<More>>(MPI_DATATYPE_NULL)...};
  const std::array sizes{static_cast<std::size_t>(std::ranges::size(first)),
                         static_cast<std::size_t>(std::ranges::size(more))...};
  const bool same_length = std::ranges::all_of(sizes, [&](std::size_t n) { return n == sizes[0]; });
  const std::size_t before = same_length ? sizes[0] : 0;
  detail::migration m(before, arrays, true, comm, o);
  const auto invalid = guard("the destinations", [&]() -> std::string {
    if (!same_length) return "the arrays have different lengths";
    return detail::fill_by_index(m, before, destination);
  });
  const std::array capacities{detail::capacity_of(first), detail::capacity_of(more)...};
  std::size_t storage = 0;
  for (std::size_t a = 0; a < capacities.size(); ++a)
    storage = std::max(storage, capacities[a] * static_cast<std::size_t>(arrays[a].length));
  const std::size_t arriving =
      reported(invalid, [&] { return m.plan(invalid.text(), *std::ranges::min_element(capacities), storage); });
  const auto lacking = guard("the container", [&] {
    detail::grow(first, arriving);
    (detail::grow(more, arriving), ...);
    return std::string();
  });
  try {
    reported(lacking, [&] { m.ready(lacking.text(), lacking.mpi_class); });
    const std::array<void*, 1 + sizeof...(More)> data{std::ranges::data(first), std::ranges::data(more)...};
    m.run(data);
  } catch (const error& e) {
    if (e.collective()) {
      first.resize(before);
      (more.resize(before), ...);
    }
    throw;
  }
  first.resize(arriving);
  (more.resize(arriving), ...);
}

/// The same for the first `count` items of storage that stays where it is. Returns the number of items that this rank
/// holds afterwards. Throws `usage_error` on every rank, with the items kept, when more items come to a rank than its
/// smallest array holds, or `count` is larger than that.
template <class Destination, class First, class... More>
requires std::is_trivially_copyable_v<First> &&(std::is_trivially_copyable_v<More>&&...)std::size_t
    migrate(Destination&& destination, std::size_t count, MPI_Comm comm, const redistribute_options& o,
            std::span<First> first, std::span<More>... more) {
  const std::array arrays{detail::array_of<First>(MPI_DATATYPE_NULL), detail::array_of<More>(MPI_DATATYPE_NULL)...};
  const std::size_t capacity = std::min({first.size(), more.size()...});
  const std::size_t before = std::min(count, capacity);
  detail::migration m(before, arrays, true, comm, o);
  const auto invalid = detail::guard("the destinations", [&]() -> std::string {
    if (count > capacity) return "more items than the storage holds";
    return detail::fill_by_index(m, before, destination);
  });
  const std::size_t arriving =
      detail::reported(invalid, [&] { return m.plan(invalid.text(), capacity, std::nullopt); });
  m.ready(nullptr, MPI_SUCCESS);
  const std::array<void*, 1 + sizeof...(More)> data{first.data(), more.data()...};
  m.run(data);
  return arriving;
}

/// The same with default options.
template <class Destination, class First, class... More>
requires detail::growable<First> &&
    (detail::growable<More>&&...) void migrate(Destination&& destination, MPI_Comm comm, First& first, More&... more) {
  migrate(destination, comm, redistribute_options{}, first, more...);
}

}  // namespace taquin
