// Migration of a program's own objects: every element of a vector goes to a rank, in place.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include "taquin/error.hpp"
#include "taquin/options.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {

namespace detail {

/// One migration, untyped: destinations are filled in, plan() tells how many elements will be here, run() moves them.
class migration {
 public:
  /// Collective. Throws budget_exceeded on every rank when there is not even room for the destinations.
  migration(std::size_t elements, MPI_Comm comm, const redistribute_options& o);
  migration(const migration&) = delete;
  migration& operator=(const migration&) = delete;
  ~migration();

  /// The rank of every element.
  [[nodiscard]] std::span<int> destinations() noexcept;
  /// Elements that this rank will hold. `room`: as many fit where the elements are; when more come, `storage` bytes
  /// will be there twice for a while, or, without it, more cannot come. Collective. Throws on every rank: usage_error
  /// when a destination is no rank, more elements come than can, or any rank says that it has a `fault`;
  /// budget_exceeded when the limit does not allow for the storage.
  std::size_t plan(const char* fault, std::size_t room, std::optional<std::size_t> storage);
  /// Moves the elements inside `data`, which has room for the larger of the two numbers of them. Collective.
  void run(void* data, count_t length, MPI_Datatype type);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Fills in the destinations of `elements`. What is wrong with them, or null.
template <class T, class Destination>
const char* fill_destinations(migration& m, std::span<const T> elements, Destination& destination) {
  const auto to = m.destinations();
  if constexpr (std::invocable<Destination&, const T&>) {
    std::ranges::transform(elements, to.begin(),
                           [&](const T& e) { return static_cast<int>(std::invoke(destination, e)); });
  } else if (std::ranges::size(destination) == elements.size()) {
    std::ranges::transform(destination, to.begin(), [](const auto r) { return static_cast<int>(r); });
  } else {
    return "not one destination per element";
  }
  return nullptr;
}

template <class T>
void run_migration(migration& m, T* elements, MPI_Datatype type) {
  const bool bytes = type == MPI_DATATYPE_NULL;
  m.run(elements, bytes ? static_cast<count_t>(sizeof(T)) : 1, bytes ? MPI_BYTE : type);
}

/// Contiguous containers that can be given another size: std::vector, std::pmr::vector, std::basic_string, and those
/// of other libraries with the same members.
template <class C>
concept growable = std::ranges::contiguous_range<C> && std::ranges::sized_range<C> && requires(C& c, std::size_t n) {
  c.resize(n);
  requires std::is_trivially_copyable_v<std::ranges::range_value_t<C>>;
};

/// Elements that fit without new storage.
template <class C>
std::size_t room_of(const C& c) {
  if constexpr (requires { c.capacity(); })
    return static_cast<std::size_t>(c.capacity());
  else
    return static_cast<std::size_t>(std::ranges::size(c));
}

template <class C, class Destination>
void migrate_container(C& elements, Destination& destination, MPI_Comm comm, const redistribute_options& o,
                       MPI_Datatype type) {
  using T = std::ranges::range_value_t<C>;
  const std::size_t before = std::ranges::size(elements);
  migration m(before, comm, o);
  const char* fault = fill_destinations(m, std::span<const T>(std::ranges::data(elements), before), destination);
  const std::size_t arriving = m.plan(fault, room_of(elements), room_of(elements) * sizeof(T));
  if constexpr (requires { elements.reserve(arriving); }) elements.reserve(arriving);
  if (arriving > before) elements.resize(arriving);
  try {
    run_migration(m, std::ranges::data(elements), type);
  } catch (const budget_exceeded&) {
    elements.resize(before);
    throw;
  }
  elements.resize(arriving);
}

}  // namespace detail

/// Sends element k of `elements` to rank `destination(elements[k])`, or to the k-th rank of a range of destinations.
/// Afterwards the vector holds what arrived, ordered by source and then by position there. `type` describes one T; by
/// default its bytes. Fewer than 2^31 elements per rank.
///
/// Extra memory on a rank of p with at most m elements of l bytes before or after: at most 12·p + 8·m bytes and what
/// taquin::redistribution takes. There is no second copy of the data where what arrives fits the vector's capacity.
/// Where it does not, the vector grows to exactly what arrives, before anything moves, and std::vector has its old and
/// its new storage at once while it does: the old counts as extra memory against `o.memory`. reserve() avoids that; so
/// does the overload for storage of your own.
///
/// Collective, blocking. Throws on every rank, with the elements kept: `usage_error` for a destination that is no
/// rank or a range of another length, `budget_exceeded` when `o.memory` is too small.
template <class T, class Destination>
requires std::is_trivially_copyable_v<T>
void migrate(std::vector<T>& elements, Destination&& destination, MPI_Comm comm, const redistribute_options& o = {},
             MPI_Datatype type = MPI_DATATYPE_NULL) {
  detail::migrate_container(elements, destination, comm, o, type);
}

/// The same for any other contiguous container that can be resized: std::pmr::vector, std::basic_string, containers of
/// other libraries. Where it has no capacity(), its size stands for that.
template <detail::growable C, class Destination>
requires(!std::same_as<C, std::vector<std::ranges::range_value_t<C>>>) void migrate(
    C& elements, Destination&& destination, MPI_Comm comm, const redistribute_options& o = {},
    MPI_Datatype type = MPI_DATATYPE_NULL) {
  detail::migrate_container(elements, destination, comm, o, type);
}

/// The same for the first `count` elements of `storage`, which never moves: the number of elements that it holds
/// afterwards. A `usage_error` on every rank, with the elements kept, when more come to a rank than its storage holds,
/// or `count` is more than that.
template <class T, class Destination>
requires std::is_trivially_copyable_v<T> std::size_t migrate(std::span<T> storage, std::size_t count,
                                                             Destination&& destination, MPI_Comm comm,
                                                             const redistribute_options& o = {},
                                                             MPI_Datatype type = MPI_DATATYPE_NULL) {
  const std::size_t there = std::min(count, storage.size());
  detail::migration m(there, comm, o);
  const char* fault = detail::fill_destinations(m, std::span<const T>(storage.first(there)), destination);
  if (count > storage.size()) fault = "more elements than the storage holds";
  const std::size_t arriving = m.plan(fault, storage.size(), std::nullopt);
  detail::run_migration(m, storage.data(), type);
  return arriving;
}

}  // namespace taquin
