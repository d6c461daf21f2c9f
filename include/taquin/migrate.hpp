// Migration of a program's own objects: every element of a vector goes to a rank, in place.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
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
  /// Elements that this rank will hold. Collective. Throws usage_error on every rank when a destination is no rank or
  /// any rank says that it has a `fault`.
  std::size_t plan(const char* fault);
  /// Moves the elements inside `data`, which has room for the larger of the two numbers of them. Collective.
  void run(void* data, count_t length, MPI_Datatype type);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace detail

/// Sends element k of `elements` to rank `destination(elements[k])`, or to the k-th rank of a range of destinations.
/// Afterwards the vector holds what arrived, ordered by source and then by position there. It grows or shrinks in
/// place: there is never a second copy of the data beside what std::vector takes when it must grow beyond its capacity
/// (reserve to avoid it). `type` describes one T; by default its bytes. Fewer than 2^31 elements per rank.
/// Collective, blocking. Throws on every rank, with the elements kept: `usage_error` for a destination that is no
/// rank or a range of another length, `budget_exceeded` when `o.memory` is too small.
template <class T, class Destination>
requires std::is_trivially_copyable_v<T>
void migrate(std::vector<T>& elements, Destination&& destination, MPI_Comm comm, const redistribute_options& o = {},
             MPI_Datatype type = MPI_DATATYPE_NULL) {
  detail::migration m(elements.size(), comm, o);
  const auto to = m.destinations();
  const char* fault = nullptr;
  if constexpr (std::invocable<Destination&, const T&>) {
    std::ranges::transform(elements, to.begin(),
                           [&](const T& e) { return static_cast<int>(std::invoke(destination, e)); });
  } else if (std::ranges::size(destination) == elements.size()) {
    std::ranges::transform(destination, to.begin(), [](const auto r) { return static_cast<int>(r); });
  } else {
    fault = "not one destination per element";
  }
  const std::size_t arriving = m.plan(fault);
  if (arriving > elements.size()) elements.resize(arriving);
  const bool bytes = type == MPI_DATATYPE_NULL;
  const std::size_t before = to.size();
  try {
    m.run(elements.data(), bytes ? static_cast<count_t>(sizeof(T)) : 1, bytes ? MPI_BYTE : type);
  } catch (const budget_exceeded&) {
    elements.resize(before);
    throw;
  }
  elements.resize(arriving);
}

}  // namespace taquin
