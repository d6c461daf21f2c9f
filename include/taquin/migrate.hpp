// Migration of a program's own objects: every element of a vector goes to a rank, in place.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "taquin/error.hpp"
#include "taquin/options.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {

namespace detail {

/// An array of a migration: `length` elements of `type` for each item that has a rank.
struct migrated_array {
  count_t length = 1;
  MPI_Datatype type = MPI_BYTE;
};

/// One migration, untyped: of an array, or of several whose items go to the same ranks. Destinations are filled in or
/// counted; plan() returns how many items will be here; run() moves them.
class migration {
 public:
  /// Collective; all ranks give arrays of the same sizes. `keeps`: with 4 bytes for the rank of each item. Otherwise
  /// items are counted by rank, and the caller sorts them itself after plan(). Throws budget_exceeded on every rank
  /// where the limit is too small.
  migration(std::size_t items, std::span<const migrated_array> arrays, bool keeps, MPI_Comm comm,
            const redistribute_options& o);
  migration(const migration&) = delete;
  migration& operator=(const migration&) = delete;
  ~migration();

  /// The rank of every item, where they are kept.
  [[nodiscard]] std::span<int> destinations() noexcept;
  /// Items for each rank, where they are not kept: to be counted before plan().
  [[nodiscard]] std::span<count_t> counts() noexcept;
  /// Where the next item for each rank is put, after plan(). The caller's sort moves these forward to where the next
  /// rank's items begin.
  [[nodiscard]] std::span<count_t> next() noexcept;
  /// One past the last item for a rank, sorted.
  [[nodiscard]] count_t end_of(std::size_t rank) const noexcept;

  /// Returns how many items this rank will hold. `capacity`: how many fit where the items are now. When more come the
  /// items move to new storage; `storage` bytes, those of the old one, then count as scratch memory. Without `storage`
  /// it is an error that more come. Collective. Throws on every rank: usage_error when a destination is no rank, more
  /// items come to a rank than it can hold, or any rank gives an `invalid_text`; budget_exceeded when the limit has
  /// no room for the storage.
  std::size_t plan(const char* invalid_text, std::size_t capacity, std::optional<std::size_t> storage);
  /// How many items go to this rank, also after plan() has thrown: for storage that is too small.
  [[nodiscard]] std::size_t incoming() const noexcept;
  /// Whether this rank has its storage and has sorted its items now, or why not: `invalid_text` and its MPI error
  /// class. Collective, but where no rank grows or sorts it returns immediately. Throws usage_error on every rank when
  /// any rank gives a text.
  void ready(const char* invalid_text, int mpi_class);
  /// Moves the items inside each array of `data`, which has room for the larger of the two numbers of them. Collective.
  void run(std::span<void* const> data);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The error of a rank's elements, or of the program's own code, until all ranks have it.
struct invalid_elements {
  std::string what;  ///< empty: nothing is wrong
  int mpi_class = MPI_ERR_ARG;
  std::exception_ptr thrown;

  [[nodiscard]] const char* text() const noexcept { return what.empty() ? nullptr : what.c_str(); }
};

/// For the exception that is being handled. Throws nothing: there may be no memory for the text.
inline invalid_elements invalid_by_exception(const char* doing, const char* what, int mpi_class) noexcept {
  invalid_elements invalid{{}, mpi_class, std::current_exception()};
  try {
    invalid.what = std::string(doing) + ": " + what;
  } catch (const std::bad_alloc&) {
    invalid.what = "out of memory";  // so short that it takes none
  }
  return invalid;
}

/// Calls the program's own code, and keeps its exception: the other ranks must not wait for this one.
template <class F>
invalid_elements guard(const char* doing, F call) {
  try {
    return {call(), MPI_ERR_ARG, nullptr};
  } catch (const std::bad_alloc&) {
    return invalid_by_exception(doing, "out of memory", MPI_ERR_NO_MEM);
  } catch (const std::exception& e) {
    return invalid_by_exception(doing, e.what(), MPI_ERR_OTHER);
  } catch (...) {
    return invalid_by_exception(doing, "an exception that is no std::exception", MPI_ERR_OTHER);
  }
}

/// Calls `step()`, which throws on all ranks when the elements of any rank are invalid. The rank whose code threw gets
/// its exception nested in that error.
template <class F>
auto reported(const invalid_elements& invalid, F step) {
  try {
    return step();
  } catch (const usage_error& e) {
    if (invalid.thrown == nullptr) throw;
    try {
      std::rethrow_exception(invalid.thrown);
    } catch (...) {
      std::throw_with_nested(e);
    }
  }
}

/// True when `r` fits an int, which `to` then is.
template <class R>
bool as_int(const R& r, int& to) noexcept(std::is_arithmetic_v<R> || std::is_enum_v<R>) {
  if constexpr (std::is_enum_v<R>) {
    return as_int(static_cast<std::underlying_type_t<R>>(r), to);
  } else if constexpr (std::is_floating_point_v<R>) {
    if (!(r > R(-2147483648.0) && r < R(2147483648.0))) return false;  // false for NaN as well
    to = static_cast<int>(r);
    return true;
  } else {
    to = static_cast<int>(r);
    if constexpr (std::is_integral_v<R>) return static_cast<R>(to) == r && (to < 0) == (r < R{});
    return true;
  }
}

/// The text for a destination that does not fit an int.
template <class R>
std::string no_rank(std::size_t element, const R& r) {
  std::string value = "a number";
  if constexpr (std::is_enum_v<R>)
    return no_rank(element, static_cast<std::underlying_type_t<R>>(r));
  else if constexpr (std::is_arithmetic_v<R>)
    value = std::to_string(r);
  return "element " + std::to_string(element) + " goes to rank " + value + ", which does not fit an int";
}

/// Fills in the destinations of `elements`. Returns their error; an empty text: none.
template <class T, class Destination>
std::string fill_destinations(migration& m, std::span<const T> elements, Destination& destination) {
  const auto to = m.destinations();
  std::size_t k = 0;
  if constexpr (std::invocable<Destination&, const T&>) {
    for (const T& e : elements) {
      const auto r = std::invoke(destination, e);
      if (!as_int(r, to[k])) return no_rank(k, r);
      ++k;
    }
  } else if (std::ranges::size(destination) == elements.size()) {
    for (const auto r : destination) {
      if (!as_int(r, to[k])) return no_rank(k, r);
      ++k;
    }
  } else {
    return "not one destination per element";
  }
  return {};
}

/// A destination function that may be called twice for an element: on request, and not where it changes when called.
template <class T, class Destination>
constexpr bool may_call_twice = std::invocable<const std::remove_reference_t<Destination>&, const T&>;

/// Whether the migration keeps the rank of each element.
template <class T, class Destination>
bool keeps_destinations(const redistribute_options& o) noexcept {
  return o.once || !may_call_twice<T, Destination>;
}

/// Counts the elements by destination. Returns their error; an empty text: none.
template <class T, class Destination>
std::string count_destinations(migration& m, std::span<const T> elements, Destination& destination) {
  const auto counts = m.counts();
  const auto ranks = static_cast<int>(counts.size());
  std::size_t k = 0;
  for (const T& e : elements) {
    const auto r = std::invoke(destination, e);
    int to = 0;
    if (!as_int(r, to)) return no_rank(k, r);
    if (to < 0 || to >= ranks)
      return "element " + std::to_string(k) + " goes to rank " + std::to_string(to) + " of " + std::to_string(ranks);
    ++counts[static_cast<std::size_t>(to)];
    ++k;
  }
  return {};
}

/// Fills in or counts the destinations.
template <class T, class Destination>
std::string read_destinations(migration& m, std::span<const T> elements, Destination& destination, bool keeps) {
  if constexpr (may_call_twice<T, Destination>)
    if (!keeps) return count_destinations(m, elements, destination);
  return fill_destinations(m, elements, destination);
}

/// Swaps two objects, however large, through a part of one.
template <class T>
void swap_bytes(T& a, T& b) noexcept {
  constexpr std::size_t most = sizeof(T) < 256 ? sizeof(T) : 256;
  auto* const one = reinterpret_cast<std::byte*>(std::addressof(a));
  auto* const other = reinterpret_cast<std::byte*>(std::addressof(b));
  std::byte part[most];
  for (std::size_t at = 0; at < sizeof(T); at += most) {
    const std::size_t n = std::min(most, sizeof(T) - at);
    std::memcpy(part, one + at, n);
    std::memcpy(one + at, other + at, n);
    std::memcpy(other + at, part, n);
  }
}

/// Sorts the elements by destination in place, as American flag sort does: the function is called once for each.
/// Returns the error; an empty text: none.
template <class T, class Destination>
std::string sort_by_destination(migration& m, std::span<T> elements, Destination& destination) {
  const auto next = m.next();
  const auto counts = m.counts();
  count_t end = 0;
  for (std::size_t r = 0; r < next.size(); ++r) {
    end += counts[r];
    while (next[r] < end) {
      T& e = elements[static_cast<std::size_t>(next[r])];
      int to = 0;
      const bool fits = as_int(std::invoke(destination, std::as_const(e)), to);
      const auto d = static_cast<std::size_t>(to);
      if (!fits || to < 0 || d < r || d >= next.size() || next[d] >= m.end_of(d))
        return "the function for destinations gives an element another rank when it is called again";
      if (d != r) swap_bytes(e, elements[static_cast<std::size_t>(next[d])]);
      ++next[d];
    }
  }
  return {};
}

template <class T>
migrated_array array_of(MPI_Datatype type) noexcept {
  const bool bytes = type == MPI_DATATYPE_NULL;
  return {bytes ? static_cast<count_t>(sizeof(T)) : 1, bytes ? MPI_BYTE : type};
}

/// Contiguous containers with resize(): std::vector, std::pmr::vector, std::basic_string, and those of other libraries
/// with the same members.
template <class C>
concept growable = std::ranges::contiguous_range<C> && std::ranges::sized_range<C> && requires(C& c, std::size_t n) {
  c.resize(n);
  requires std::is_trivially_copyable_v<std::ranges::range_value_t<C>>;
};

/// Elements that fit without new storage.
template <class C>
std::size_t capacity_of(const C& c) {
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
  const bool keeps = keeps_destinations<T, Destination>(o);
  const migrated_array array = array_of<T>(type);
  migration m(before, std::span(&array, 1), keeps, comm, o);
  const auto invalid = guard("the destinations", [&] {
    return read_destinations(m, std::span<const T>(std::ranges::data(elements), before), destination, keeps);
  });
  const std::size_t capacity = capacity_of(elements);
  const std::size_t arriving =
      reported(invalid, [&] { return m.plan(invalid.text(), capacity, capacity * sizeof(T)); });
  auto lacking = guard("the container", [&] {
    if constexpr (requires { elements.reserve(arriving); })
      if (arriving > capacity) elements.reserve(arriving);
    if (arriving > before) elements.resize(arriving);
    return std::string();
  });
  if constexpr (may_call_twice<T, Destination>)
    if (!keeps && lacking.what.empty())
      lacking = guard("the destinations", [&] {
        return sort_by_destination(m, std::span<T>(std::ranges::data(elements), before), destination);
      });
  try {
    reported(lacking, [&] { m.ready(lacking.text(), lacking.mpi_class); });
    void* const data = std::ranges::data(elements);
    m.run(std::span(&data, 1));
  } catch (const error& e) {
    if (e.collective() && std::ranges::size(elements) != before) elements.resize(before);
    throw;
  }
  elements.resize(arriving);
}

}  // namespace detail

/// Sends element k of `elements` to rank `destination(elements[k])`, or to the k-th rank of a range of destinations.
/// Afterwards the vector holds what arrived, ordered by source and then by position there. `type` describes one T; by
/// default its bytes. Fewer than 2^31 elements per rank.
///
/// Elements are sorted by destination in place and then exchanged in place, so that there is no second copy of the data
/// where what arrives fits the vector's capacity. Scratch memory on a rank of p with m elements of l bytes before: at
/// least 4608 + 300·p + min(l, 4096) + max(4·m, min(m·l, 16384)) bytes, of which budget_exceeded names exactly those
/// that are needed, and those that are as good as no limit where no rank gets more elements than the most that one has.
/// A larger `o.memory` makes the exchange faster; by default
/// that has 1% of the data, at least 64 KiB.
///
/// The 4·m are destinations, as `destination` is called once for each element. With `o.once` off they are not kept. A
/// function that can be called as const is then called twice for each element and must return the same rank; the
/// elements of a source arrive in an order of the sort's own (the same in every run), and after an error they are kept
/// in such an order.
///
/// If more elements arrive than fit, the vector grows to exactly their number, before anything moves. While it grows
/// std::vector has its old and its new storage; the old one counts as scratch memory against `o.memory`. To avoid that
/// call reserve() first, or use the overload for storage of your own.
///
/// Collective, blocking. Throws on every rank, with the elements kept: `usage_error` for a destination that is no rank
/// or a range of another length, and where `destination` or the vector throws on a rank, which then has that exception
/// nested (std::rethrow_if_nested); `budget_exceeded` when `o.memory` is too small.
///
/// `destination` and the container's allocator may call taquin on other communicators. A call on `comm`, where the
/// migration is pending, throws usage_error (MPI_ERR_COMM) on all ranks that make it, and communicates nothing.
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

/// The same for the first `count` elements of `storage`, which stays where it is. Returns the number of elements that
/// it holds afterwards. Throws `usage_error` on every rank, with the elements kept, when more elements come to a rank
/// than its storage holds, or `count` is larger than its storage.
template <class T, class Destination>
requires std::is_trivially_copyable_v<T> std::size_t migrate(std::span<T> storage, std::size_t count,
                                                             Destination&& destination, MPI_Comm comm,
                                                             const redistribute_options& o = {},
                                                             MPI_Datatype type = MPI_DATATYPE_NULL) {
  const std::size_t there = std::min(count, storage.size());
  const bool keeps = detail::keeps_destinations<T, Destination>(o);
  const detail::migrated_array array = detail::array_of<T>(type);
  detail::migration m(there, std::span(&array, 1), keeps, comm, o);
  const auto invalid = detail::guard("the destinations", [&]() -> std::string {
    if (count > storage.size()) return "more elements than the storage holds";
    return detail::read_destinations(m, std::span<const T>(storage.first(there)), destination, keeps);
  });
  const std::size_t arriving =
      detail::reported(invalid, [&] { return m.plan(invalid.text(), storage.size(), std::nullopt); });
  detail::invalid_elements wrong;
  if constexpr (detail::may_call_twice<T, Destination>)
    if (!keeps)
      wrong = detail::guard("the destinations",
                            [&] { return detail::sort_by_destination(m, storage.first(there), destination); });
  detail::reported(wrong, [&] { m.ready(wrong.text(), wrong.mpi_class); });
  void* const data = storage.data();
  m.run(std::span(&data, 1));
  return arriving;
}

}  // namespace taquin
