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

namespace taquin {

/// A contiguous range. Its elements must be transferable: see taquin::transferable.
template <class R>
concept element_range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// Such a range of transferable elements.
template <class R>
concept transferable_range = element_range<R> && transferable<std::ranges::range_value_t<R>>;

/// A range of integers: one count per rank.
template <class R>
concept count_range = std::ranges::forward_range<R> && std::integral<std::ranges::range_value_t<R>>;

/// The result of alltoallv: the elements in the order of their sources, and the number from each rank. It can be
/// decomposed: auto [data, counts] = ….
template <class T>
class received {
 public:
  std::vector<T> data;          ///< all elements, those of rank 0 first
  std::vector<count_t> counts;  ///< elements from each rank

  /// Empty result.
  received() = default;
  /// The received elements.
  received(std::vector<T> elements, std::vector<count_t> of_each)
      : data(std::move(elements)), counts(std::move(of_each)), before_(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), before_.begin(), count_t{0});
  }

  /// The elements from `rank`, in constant time; as long as `data` and `counts` are unchanged. Local.
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

/// Counts as the library takes them, the displacements of consecutive blocks, and their error.
struct row_of_blocks {
  std::vector<count_t> counts;
  std::vector<count_t> displs;
  count_t total = 0;
  const char* invalid_text = nullptr;

  row_of_blocks(std::vector<count_t> given, std::size_t peers) : counts(std::move(given)), displs(peers) {
    if (counts.size() != peers) invalid_text = "counts must have one entry per rank";
    counts.resize(peers);
    for (std::size_t i = 0; i < peers; ++i) {
      displs[i] = total;
      if (counts[i] < 0) invalid_text = "a count is negative";
      if (__builtin_add_overflow(total, counts[i], &total))
        invalid_text = "the counts add up to more than 64 bits hold";
    }
  }
};

template <count_range Counts>
std::vector<count_t> to_counts(const Counts& counts) {
  std::vector<count_t> made;
  made.reserve(static_cast<std::size_t>(std::ranges::distance(counts)));
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

/// The number of elements from each rank. `invalid_text` is reported on all ranks.
inline std::vector<count_t> exchange_counts(const std::vector<count_t>& to, const char* invalid_text, MPI_Comm comm,
                                            const options& o) {
  std::vector<count_t> from(to.size());
  auto x = exchange::alltoall(to.data(), 1, datatype_of<count_t>(), from.data(), 1, datatype_of<count_t>(), comm);
  detail::invalid_exchange::set(x, invalid_text);
  run(x, {.memory = o.memory, .nodes = o.nodes});
  return from;
}

/// Resizes the vector. Returns the error, or null: a rank without memory must report it to the others.
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
                   const char* invalid_text, MPI_Comm comm, const options& o) {
  auto x = exchange::alltoallv(send, count_view(to.counts.data()), count_view(to.displs.data()), datatype_of<T>(),
                               recv.data(), count_view(from.counts.data()), count_view(from.displs.data()),
                               datatype_of<T>(), comm);
  if (invalid_text != nullptr) detail::invalid_exchange::set(x, invalid_text);
  run(x, o);
}

template <element_range Send>
const char* invalid_text_of(const Send& data, const row_of_blocks& to) {
  if (to.invalid_text != nullptr) return to.invalid_text;
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
  const char* invalid_text = detail::give_size(recv, n);
  const auto type = datatype_of<T>();
  auto x = exchange::alltoall(std::ranges::data(data), static_cast<count_t>(n / peers), type, recv.data(),
                              static_cast<count_t>(n / peers), type, comm);
  if (n % peers != 0) invalid_text = "the range does not divide into one block per rank";
  detail::invalid_exchange::set(x, invalid_text);
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
  detail::row_of_blocks from(detail::exchange_counts(to.counts, detail::invalid_text_of(data, to), comm, o), peers);
  const char* invalid_text =
      from.invalid_text != nullptr ? from.invalid_text : detail::give_size(recv, static_cast<std::size_t>(from.total));
  detail::exchange_rows(std::ranges::data(data), to, recv, from, invalid_text, comm, o);
  return std::move(from.counts);
}

/// The same if the counts of both sides are known: only the elements are exchanged.
template <element_range Send, count_range SendCounts, count_range RecvCounts>
void alltoallv(const Send& data, const SendCounts& sendcounts, std::vector<std::ranges::range_value_t<Send>>& recv,
               const RecvCounts& recvcounts, MPI_Comm comm, const options& o = {}) {
  const std::size_t peers = detail::peers_of_ranges(comm);
  const detail::row_of_blocks to(detail::to_counts(sendcounts), peers);
  const detail::row_of_blocks from(detail::to_counts(recvcounts), peers);
  const char* invalid_text = detail::invalid_text_of(data, to);
  if (invalid_text == nullptr) invalid_text = from.invalid_text;
  if (invalid_text == nullptr) invalid_text = detail::give_size(recv, static_cast<std::size_t>(from.total));
  detail::exchange_rows(std::ranges::data(data), to, recv, from, invalid_text, comm, o);
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
