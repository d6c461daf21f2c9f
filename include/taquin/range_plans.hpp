// Plans of ranges, and exchanges in place of one: any contiguous range, counts of any integer type.
// Blocks are consecutive, or placed by displacements. A thin layer on taquin::plan.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "taquin/alltoall.hpp"
#include "taquin/exchange.hpp"
#include "taquin/in_place.hpp"
#include "taquin/options.hpp"
#include "taquin/plan.hpp"
#include "taquin/ranges.hpp"

namespace taquin {

namespace detail {

/// Counts and displacements of one side as arguments of the library, and their error in a buffer of `size`.
struct side_of_ranges {
  std::vector<count_t> counts;
  std::vector<count_t> displs;
  const char* invalid_text = nullptr;

  side_of_ranges(std::vector<count_t> given, std::vector<count_t> at, std::size_t peers, std::size_t size)
      : counts(std::move(given)), displs(std::move(at)) {
    if (counts.size() != peers || displs.size() != peers)
      invalid_text = "counts and displacements must have one entry per rank";
    else if (std::ranges::any_of(counts, [](count_t n) { return n < 0; }))
      invalid_text = "a count is negative";
    else if (!inside(counts, displs, size))
      invalid_text = "a block lies outside its range";
    counts.resize(peers);
    displs.resize(peers);
  }
  /// Consecutive blocks.
  side_of_ranges(std::vector<count_t> given, std::size_t peers, std::size_t size) {
    row_of_blocks row(std::move(given), peers);
    invalid_text = row.invalid_text != nullptr              ? row.invalid_text
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
constexpr void are_consistent() {
  static_assert(std::is_same_v<std::ranges::range_value_t<Send>, std::ranges::range_value_t<Recv>>,
                "what is sent and what is received must be of the same type");
}

/// The result of `use` for an exchange of two ranges.
template <class Send, class Recv, class Use>
auto with_exchange(const Send& data, const side_of_ranges& to, Recv& recv, const side_of_ranges& from, MPI_Comm comm,
                   Use use) {
  are_consistent<Send, Recv>();
  const auto type = datatype_of<std::ranges::range_value_t<Send>>();
  auto x = exchange::alltoallv(std::ranges::data(data), count_view(to.counts.data()), count_view(to.displs.data()),
                               type, std::ranges::data(recv), count_view(from.counts.data()),
                               count_view(from.displs.data()), type, comm);
  if (const char* invalid_text = to.invalid_text != nullptr ? to.invalid_text : from.invalid_text)
    invalid_exchange::set(x, invalid_text);
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
  if (const char* invalid_text = to.invalid_text != nullptr ? to.invalid_text : from.invalid_text)
    invalid_exchange::set(x, invalid_text);
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
  detail::are_consistent<Send, Recv>();
  const std::size_t peers = std::max<std::size_t>(detail::peers_of_ranges(comm), 1);
  const std::size_t n = std::ranges::size(data);
  const auto type = datatype_of<T>();
  auto x = exchange::alltoall(std::ranges::data(data), static_cast<count_t>(n / peers), type, std::ranges::data(recv),
                              static_cast<count_t>(std::ranges::size(recv) / peers), type, comm);
  if (n % peers != 0 || std::ranges::size(recv) % peers != 0)
    detail::invalid_exchange::set(x, "a range does not divide into one block per rank");
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

/// The same for consecutive blocks from the begin of the range, on both sides.
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

/// The same for consecutive blocks from the begin of the range, on both sides.
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
