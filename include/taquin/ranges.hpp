// All-to-all exchange of ranges: any contiguous range goes in, a vector comes out, and counts that are not given are
// exchanged first. A thin layer on the typed calls; all-to-all calls of other shapes are in alltoall.hpp.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <iterator>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "taquin/plan.hpp"

namespace taquin {

/// A range whose elements lie in a row. They must be able to travel: see taquin::transferable.
template <class R>
concept element_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// Such a range, whose elements can travel.
template <class R>
concept transferable_range = element_range<R> && transferable<std::ranges::range_value_t<R>>;

/// A range of integers: one count per rank.
template <class R>
concept count_range = std::ranges::forward_range<R> && std::integral<std::ranges::range_value_t<R>>;

/// What alltoallv brought: the elements in the order of their sources, and how many came from each rank. It can be
/// taken apart: auto [data, counts] = ….
template <class T>
class received {
 public:
  std::vector<T> data;          ///< all elements, those of rank 0 first
  std::vector<count_t> counts;  ///< elements from each rank

  /// Nothing from nobody.
  received() = default;
  /// What has come.
  received(std::vector<T> elements, std::vector<count_t> of_each)
      : data(std::move(elements)), counts(std::move(of_each)), before_(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), before_.begin(), count_t{0});
  }

  /// The elements that came from `rank`, in constant time; as long as `data` and `counts` are what came. Local.
  [[nodiscard]] std::span<T> from(int rank) { return part(std::span<T>(data), rank); }
  /// The same.
  [[nodiscard]] std::span<const T> from(int rank) const { return part(std::span<const T>(data), rank); }

  /// For structured bindings: the elements (0) and the counts (1).
  template <std::size_t I>
  [[nodiscard]] auto& get() & noexcept {
    if constexpr (I == 0)
      return data;
    else
      return counts;
  }
  /// The same.
  template <std::size_t I>
  [[nodiscard]] const auto& get() const& noexcept {
    if constexpr (I == 0)
      return data;
    else
      return counts;
  }
  /// The same.
  template <std::size_t I>
  [[nodiscard]] auto&& get() && noexcept {
    return std::move(get<I>());
  }

 private:
  template <class Span>
  Span part(Span all, int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return all.subspan(static_cast<std::size_t>(before_[r]), static_cast<std::size_t>(counts[r]));
  }

  std::vector<count_t> before_;
};

namespace detail {

/// Counts as the library takes them, the displacements of blocks in a row, and what is wrong with them.
struct row_of_blocks {
  std::vector<count_t> counts;
  std::vector<count_t> displs;
  count_t total = 0;
  const char* fault = nullptr;

  row_of_blocks(std::vector<count_t> given, std::size_t peers) : counts(std::move(given)), displs(peers) {
    if (counts.size() != peers) fault = "counts must have one entry per rank";
    counts.resize(peers);
    for (std::size_t i = 0; i < peers; ++i) {
      displs[i] = total;
      if (counts[i] < 0) fault = "a count is negative";
      if (__builtin_add_overflow(total, counts[i], &total)) fault = "the counts add up to more than 64 bits hold";
    }
  }
};

template <count_range Counts>
std::vector<count_t> to_counts(const Counts& counts) {
  std::vector<count_t> made;
  for (const auto n : counts) made.push_back(std::in_range<count_t>(n) ? static_cast<count_t>(n) : count_t{-1});
  return made;
}

/// Ranks of an intracommunicator; on an intercommunicator, where ranges have no meaning yet, usage_error on all ranks.
inline std::size_t peers_of_ranges(MPI_Comm comm) {
  int inter = 0;
  if (comm != MPI_COMM_NULL) MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) throw usage_error("ranges are not exchanged on an intercommunicator", MPI_ERR_COMM);
  return static_cast<std::size_t>(peers_of(comm));
}

/// How many elements come from each rank. `fault` is reported on all ranks.
inline std::vector<count_t> exchange_counts(const std::vector<count_t>& to, const char* fault, MPI_Comm comm,
                                            const options& o) {
  std::vector<count_t> from(to.size());
  auto x = exchange::alltoall(to.data(), 1, datatype_of<count_t>(), from.data(), 1, datatype_of<count_t>(), comm);
  detail::exchange_fault::set(x, fault);
  run(x, {.memory = o.memory, .nodes = o.nodes});
  return from;
}

/// Gives the vector this size. What is wrong, or null: a rank that has no memory must tell the others.
template <class T>
const char* give_size(std::vector<T>& v, std::size_t n) {
  try {
    v.resize(n);
  } catch (const std::exception&) {
    return "no memory for what arrives on a rank";
  }
  return nullptr;
}

template <class T>
void exchange_rows(const T* send, const row_of_blocks& to, std::vector<T>& recv, const row_of_blocks& from,
                   const char* fault, MPI_Comm comm, const options& o) {
  auto x = exchange::alltoallv(send, count_view(to.counts.data()), count_view(to.displs.data()), datatype_of<T>(),
                               recv.data(), count_view(from.counts.data()), count_view(from.displs.data()),
                               datatype_of<T>(), comm);
  if (fault != nullptr) detail::exchange_fault::set(x, fault);
  run(x, o);
}

template <element_range Send>
const char* fault_of(const Send& data, const row_of_blocks& to) {
  if (to.fault != nullptr) return to.fault;
  return to.total == static_cast<count_t>(std::ranges::size(data)) ? nullptr : "the counts are not those of the data";
}

}  // namespace detail

/// The elements of `data` in blocks of equal length, one for each rank in order; a vector of as many elements with the
/// blocks that arrived. Blocking, collective; throws as taquin::plan, and `usage_error` on every rank when a range does
/// not divide into equal blocks. Its length must be the same on all ranks.
template <element_range Send>
[[nodiscard]] std::vector<std::ranges::range_value_t<Send>> alltoall(const Send& data, MPI_Comm comm,
                                                                     const options& o = {}) {
  using T = std::ranges::range_value_t<Send>;
  const std::size_t peers = std::max<std::size_t>(detail::peers_of_ranges(comm), 1);
  const std::size_t n = std::ranges::size(data);
  std::vector<T> recv;
  const char* fault = detail::give_size(recv, n);
  const auto type = datatype_of<T>();
  auto x = exchange::alltoall(std::ranges::data(data), static_cast<count_t>(n / peers), type, recv.data(),
                              static_cast<count_t>(n / peers), type, comm);
  if (n % peers != 0) fault = "the range does not divide into one block per rank";
  detail::exchange_fault::set(x, fault);
  run(x, o);
  return recv;
}

/// Sends the first `counts[0]` elements of `data` to rank 0, the next `counts[1]` to rank 1, and so on; what arrives is
/// put into `recv`, which gets the size for it, ordered by source. Returns how many came from each rank: they are
/// exchanged first. After a failure the elements of `recv` are not specified.
///
/// Beside what `o.memory` allows, this layer takes 48 bytes per rank for counts and displacements.
/// Blocking, collective; throws as taquin::plan, and `usage_error` on every rank when counts are not one per rank, are
/// negative, do not add up to the length of `data`, or a rank has no memory for what arrives there.
template <element_range Send, count_range Counts>
std::vector<count_t> alltoallv(const Send& data, const Counts& counts,
                               std::vector<std::ranges::range_value_t<Send>>& recv, MPI_Comm comm,
                               const options& o = {}) {
  const std::size_t peers = detail::peers_of_ranges(comm);
  const detail::row_of_blocks to(detail::to_counts(counts), peers);
  detail::row_of_blocks from(detail::exchange_counts(to.counts, detail::fault_of(data, to), comm, o), peers);
  const char* fault =
      from.fault != nullptr ? from.fault : detail::give_size(recv, static_cast<std::size_t>(from.total));
  detail::exchange_rows(std::ranges::data(data), to, recv, from, fault, comm, o);
  return std::move(from.counts);
}

/// The same where the counts of both sides are known: nothing but the elements is exchanged.
template <element_range Send, count_range SendCounts, count_range RecvCounts>
void alltoallv(const Send& data, const SendCounts& sendcounts, std::vector<std::ranges::range_value_t<Send>>& recv,
               const RecvCounts& recvcounts, MPI_Comm comm, const options& o = {}) {
  const std::size_t peers = detail::peers_of_ranges(comm);
  const detail::row_of_blocks to(detail::to_counts(sendcounts), peers);
  const detail::row_of_blocks from(detail::to_counts(recvcounts), peers);
  const char* fault = detail::fault_of(data, to);
  if (fault == nullptr) fault = from.fault;
  if (fault == nullptr) fault = detail::give_size(recv, static_cast<std::size_t>(from.total));
  detail::exchange_rows(std::ranges::data(data), to, recv, from, fault, comm, o);
}

/// The same, with data and counts as the result:
///
///     auto [data, counts] = taquin::alltoallv(particles, counts_to, comm);
template <element_range Send, count_range Counts>
[[nodiscard]] received<std::ranges::range_value_t<Send>> alltoallv(const Send& data, const Counts& counts,
                                                                   MPI_Comm comm, const options& o = {}) {
  std::vector<std::ranges::range_value_t<Send>> recv;
  auto from = alltoallv(data, counts, recv, comm, o);
  return {std::move(recv), std::move(from)};
}

namespace detail {

/// Counts and displacements of one side as the library takes them, and what is wrong with them in a buffer of `size`.
struct side_of_ranges {
  std::vector<count_t> counts;
  std::vector<count_t> displs;
  const char* fault = nullptr;

  side_of_ranges(std::vector<count_t> given, std::vector<count_t> at, std::size_t peers, std::size_t size)
      : counts(std::move(given)), displs(std::move(at)) {
    if (counts.size() != peers || displs.size() != peers)
      fault = "counts and displacements must have one entry per rank";
    else if (std::ranges::any_of(counts, [](count_t n) { return n < 0; }))
      fault = "a count is negative";
    else if (!inside(counts, displs, size))
      fault = "a block lies outside its range";
    counts.resize(peers);
    displs.resize(peers);
  }
  /// Blocks in a row.
  side_of_ranges(std::vector<count_t> given, std::size_t peers, std::size_t size) {
    row_of_blocks row(std::move(given), peers);
    fault = row.fault != nullptr                     ? row.fault
            : row.total > static_cast<count_t>(size) ? "the counts add up to more than the range holds"
                                                     : nullptr;
    counts = std::move(row.counts);
    displs = std::move(row.displs);
  }
};

/// A plan uses its ranges until it is freed.
template <class... Ranges>
constexpr void live_on() {
  static_assert((std::ranges::borrowed_range<Ranges> && ...),
                "a plan reads and writes its ranges until it is freed: this one would be gone before; name it");
}

template <class Send, class Recv>
constexpr void are_alike() {
  static_assert(std::is_same_v<std::ranges::range_value_t<Send>, std::ranges::range_value_t<Recv>>,
                "what is sent and what is received must be of the same type");
}

/// What `use` makes of an exchange of two ranges.
template <class Send, class Recv, class Use>
auto with_exchange(const Send& data, const side_of_ranges& to, Recv& recv, const side_of_ranges& from, MPI_Comm comm,
                   Use use) {
  are_alike<Send, Recv>();
  const auto type = datatype_of<std::ranges::range_value_t<Send>>();
  auto x = exchange::alltoallv(std::ranges::data(data), count_view(to.counts.data()), count_view(to.displs.data()),
                               type, std::ranges::data(recv), count_view(from.counts.data()),
                               count_view(from.displs.data()), type, comm);
  if (const char* fault = to.fault != nullptr ? to.fault : from.fault) exchange_fault::set(x, fault);
  return use(x);
}

/// The same inside one range.
template <class Buffer, class Use>
auto with_exchange_in_place(Buffer& buffer, const side_of_ranges& to, const side_of_ranges& from, MPI_Comm comm,
                            Use use) {
  auto x = exchange::alltoallv_in_place(std::ranges::data(buffer), count_view(to.counts.data()),
                                        count_view(to.displs.data()), count_view(from.counts.data()),
                                        count_view(from.displs.data()),
                                        datatype_of<std::ranges::range_value_t<Buffer>>(), comm);
  if (const char* fault = to.fault != nullptr ? to.fault : from.fault) exchange_fault::set(x, fault);
  return use(x);
}

}  // namespace detail

/// A plan that sends the elements of `data` in blocks of equal length, one for each rank in order, and puts those that
/// arrive into `recv`, which is as long. Ranges must stay where they are until the plan is freed. Collective; throws as
/// taquin::plan, and `usage_error` on every rank when a range does not divide into equal blocks.
template <element_range Send, element_range Recv>
[[nodiscard]] plan plan_alltoall(Send&& data, Recv&& recv, MPI_Comm comm, const options& o = {}) {
  using T = std::ranges::range_value_t<Send>;
  detail::live_on<Send, Recv>();
  detail::are_alike<Send, Recv>();
  const std::size_t peers = std::max<std::size_t>(detail::peers_of_ranges(comm), 1);
  const std::size_t n = std::ranges::size(data);
  const auto type = datatype_of<T>();
  auto x = exchange::alltoall(std::ranges::data(data), static_cast<count_t>(n / peers), type, std::ranges::data(recv),
                              static_cast<count_t>(std::ranges::size(recv) / peers), type, comm);
  if (n % peers != 0 || std::ranges::size(recv) % peers != 0)
    detail::exchange_fault::set(x, "a range does not divide into one block per rank");
  return plan(x, o);
}

/// A plan that sends the first `sendcounts[0]` elements of `data` to rank 0, the next `sendcounts[1]` to rank 1, and so
/// on, and puts what arrives into `recv` in the same way. Counts are read here and need not live on; the ranges must
/// stay where they are until the plan is freed. Collective; throws as taquin::plan, and `usage_error` on every rank
/// when counts are not one per rank, are negative, or add up to more than their range holds.
template <element_range Send, count_range SendCounts, element_range Recv, count_range RecvCounts>
[[nodiscard]] plan plan_alltoallv(Send&& data, const SendCounts& sendcounts, Recv&& recv, const RecvCounts& recvcounts,
                                  MPI_Comm comm, const options& o = {}) {
  detail::live_on<Send, Recv>();
  const std::size_t peers = detail::peers_of_ranges(comm);
  return detail::with_exchange(data, {detail::to_counts(sendcounts), peers, std::ranges::size(data)}, recv,
                               {detail::to_counts(recvcounts), peers, std::ranges::size(recv)}, comm,
                               [&](const exchange& x) { return plan(x, o); });
}

/// The same with displacements of your own, in elements.
template <element_range Send, count_range SendCounts, count_range SendDispls, element_range Recv,
          count_range RecvCounts, count_range RecvDispls>
[[nodiscard]] plan plan_alltoallv(Send&& data, const SendCounts& sendcounts, const SendDispls& sdispls, Recv&& recv,
                                  const RecvCounts& recvcounts, const RecvDispls& rdispls, MPI_Comm comm,
                                  const options& o = {}) {
  detail::live_on<Send, Recv>();
  const std::size_t peers = detail::peers_of_ranges(comm);
  return detail::with_exchange(
      data, {detail::to_counts(sendcounts), detail::to_counts(sdispls), peers, std::ranges::size(data)}, recv,
      {detail::to_counts(recvcounts), detail::to_counts(rdispls), peers, std::ranges::size(recv)}, comm,
      [&](const exchange& x) { return plan(x, o); });
}

/// taquin::alltoallv_in_place for any contiguous range and any integers: block i of the send side is replaced by what
/// rank i sends. Blocking, collective; throws as taquin::plan, and `usage_error` on every rank when counts or
/// displacements are not one per rank or a block lies outside the range.
template <element_range Buffer, count_range SendCounts, count_range SendDispls, count_range RecvCounts,
          count_range RecvDispls>
void alltoallv_in_place(Buffer&& buffer, const SendCounts& sendcounts, const SendDispls& sdispls,
                        const RecvCounts& recvcounts, const RecvDispls& rdispls, MPI_Comm comm, const options& o = {}) {
  const std::size_t peers = detail::peers_of_ranges(comm);
  const std::size_t size = std::ranges::size(buffer);
  detail::with_exchange_in_place(buffer, {detail::to_counts(sendcounts), detail::to_counts(sdispls), peers, size},
                                 {detail::to_counts(recvcounts), detail::to_counts(rdispls), peers, size}, comm,
                                 [&](const exchange& x) { run(x, o); });
}

/// The same for blocks in a row, from the begin of the range, on both sides.
template <element_range Buffer, count_range SendCounts, count_range RecvCounts>
void alltoallv_in_place(Buffer&& buffer, const SendCounts& sendcounts, const RecvCounts& recvcounts, MPI_Comm comm,
                        const options& o = {}) {
  const std::size_t peers = detail::peers_of_ranges(comm);
  const std::size_t size = std::ranges::size(buffer);
  detail::with_exchange_in_place(buffer, {detail::to_counts(sendcounts), peers, size},
                                 {detail::to_counts(recvcounts), peers, size}, comm,
                                 [&](const exchange& x) { run(x, o); });
}

/// The plan of taquin::alltoallv_in_place. Counts and displacements are read here; the range must stay where it is
/// until the plan is freed. Collective; throws as the blocking call.
template <element_range Buffer, count_range SendCounts, count_range SendDispls, count_range RecvCounts,
          count_range RecvDispls>
[[nodiscard]] plan plan_alltoallv_in_place(Buffer&& buffer, const SendCounts& sendcounts, const SendDispls& sdispls,
                                           const RecvCounts& recvcounts, const RecvDispls& rdispls, MPI_Comm comm,
                                           const options& o = {}) {
  detail::live_on<Buffer>();
  const std::size_t peers = detail::peers_of_ranges(comm);
  const std::size_t size = std::ranges::size(buffer);
  return detail::with_exchange_in_place(buffer,
                                        {detail::to_counts(sendcounts), detail::to_counts(sdispls), peers, size},
                                        {detail::to_counts(recvcounts), detail::to_counts(rdispls), peers, size}, comm,
                                        [&](const exchange& x) { return plan(x, o); });
}

/// The same for blocks in a row, from the begin of the range, on both sides.
template <element_range Buffer, count_range SendCounts, count_range RecvCounts>
[[nodiscard]] plan plan_alltoallv_in_place(Buffer&& buffer, const SendCounts& sendcounts, const RecvCounts& recvcounts,
                                           MPI_Comm comm, const options& o = {}) {
  detail::live_on<Buffer>();
  const std::size_t peers = detail::peers_of_ranges(comm);
  const std::size_t size = std::ranges::size(buffer);
  return detail::with_exchange_in_place(buffer, {detail::to_counts(sendcounts), peers, size},
                                        {detail::to_counts(recvcounts), peers, size}, comm,
                                        [&](const exchange& x) { return plan(x, o); });
}
}  // namespace taquin

// auto [data, counts] = taquin::alltoallv(…).
/// @cond
template <class T>
struct std::tuple_size<taquin::received<T>> : std::integral_constant<std::size_t, 2> {};
template <class T>
struct std::tuple_element<0, taquin::received<T>> {
  using type = std::vector<T>;
};
template <class T>
struct std::tuple_element<1, taquin::received<T>> {
  using type = std::vector<taquin::count_t>;
};
/// @endcond
