// Sparse exchange: each rank knows to whom it sends; the exchange finds out from whom it receives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "taquin/element_types.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "taquin/ranges.hpp"
#include "taquin/types.hpp"

namespace taquin {

namespace detail {
struct sparse_access;
}

/// The data of a rank for others: `destinations.size()` consecutive blocks in `data`. A rank may be a destination
/// several times, and its own; a block of no elements arrives as such.
struct sparse_blocks {
  const void* data = nullptr;             ///< the first element; must live until the data are received
  std::span<const int> destinations{};    ///< a rank for each block
  count_view counts{};                    ///< elements of each block
  MPI_Datatype type = MPI_DATATYPE_NULL;  ///< of an element; as many bytes on all ranks
};

/// A sparse exchange in two steps. The first, which is the constructor, finds the sources of this rank and the sizes of
/// their blocks; the second, receive() or deliver(), moves the data, as often as they change. Move-only.
///
/// A receiver requests data: at most 32 requested chunks are in flight to it, or `in_flight` where that is set, fewer
/// where the memory does not suffice, and at most as many from it. So no rank receives data without a place for them,
/// for any pattern.
///
/// Scratch memory: 36 bytes for each block for this rank, 16 KiB, and 24 bytes for each block whose header is routed
/// through this rank; all within `options::memory`, of which the smallest of any rank rules. Messages of a
/// rank: two for each block, and for headers ⌈log_r p⌉·(r − 1) with r up to 8 (notify_tree).
///
/// On one node there are no messages: one step in shared memory for the sizes and one for the data, in
/// sparse_exchange() one for both. It uses 48 bytes for each block, and shared memory for the blocks.
/// Elsewhere the headers are piggybacked on the agreement, in sparse_exchange() with the data of small blocks. That
/// memory counts (up to 1 MiB): with a limit below it on any rank, the headers are messages of their own.
///
/// Collective. The constructor, receive() and deliver() throw the same on every rank, before any data have moved:
/// `usage_error` for a destination that is no rank, a negative count, null data, an element of another size than on
/// other ranks; `budget_exceeded` when the memory is too small. By messages the constructor's names exactly the bytes
/// that it and receive() need, whatever the limit was; on nodes that share memory less may be enough. The needs of
/// deliver() and reply() depend on their chunks and answers: these calls name them.
class sparse_call {
 public:
  /// Finds sources and sizes. Collective. Of the options, `memory`, `in_flight`, `stats`, `timeout` and
  /// `on_timeout` are heeded, and `algorithm`: "auto" or a name of src/algorithms/sparse/sparse.def.
  sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o = {});
  /// Takes over.
  sparse_call(sparse_call&& other) noexcept;
  /// Takes over.
  sparse_call& operator=(sparse_call&& other) noexcept;
  ~sparse_call();

  /// The source of each block, in ascending order; blocks of one source in its order.
  [[nodiscard]] std::span<const int> sources() const noexcept;
  /// Elements of each of these blocks.
  [[nodiscard]] std::span<const count_t> counts() const noexcept;
  /// Elements of all of them.
  [[nodiscard]] count_t total() const noexcept;

  /// A part of a received block.
  struct chunk {
    std::size_t block = 0;       ///< its number in sources() and counts()
    count_t first = 0;           ///< elements of the block before it
    count_t count = 0;           ///< elements of it
    const void* data = nullptr;  ///< valid until the function returns
  };
  /// The consumer of chunks. An exception that it throws is thrown by deliver() at the end, on this rank; later chunks
  /// are dropped. It may call taquin on other communicators, where all of their ranks make as many calls in the
  /// same order; waits in these calls serve this exchange as well. A call on the communicator of this exchange, which
  /// is pending, throws usage_error (MPI_ERR_COMM) on all ranks that make it, and communicates nothing. The function
  /// must not wait for other ranks' functions in calls of the MPI library: there nothing serves this exchange.
  using taker = std::function<void(const chunk&)>;

  /// Receives all blocks, consecutively, into `into`, which has room for total() elements. Collective. May be
  /// called again, and so may deliver(): sources and sizes stay, and what `data` holds then is sent.
  void receive(void* into);
  /// Receives all blocks in chunks of at most `elements`, in order, and gives each to `take`. As many chunks wait in
  /// memory as fit, one at least. While `take` works nothing more is requested: a consumer that writes to a disk
  /// slows down its senders. Collective, each rank with its own chunk size, or receive() on some ranks.
  void deliver(count_t elements, const taker& take);

  /// The reverse exchange, for answers: sends to the source of each received block as many elements of `type` as the
  /// block has, from `answers`, in the order of sources(). The answers to this rank's own blocks, as many elements as
  /// each has, arrive in `into`, in the order in which this rank gave them. Collective, with the same `type` each
  /// time, as often as there is something to answer, whether or not data were received. `destinations` and `counts`
  /// of the constructor must live until the last one, and so must the communicator. The first call finds the routes,
  /// which uses 36 bytes more for each block; blocks that are not in ascending order of destinations take 24 more and
  /// up to 64 KiB, or one element.
  void reply(const void* answers, MPI_Datatype type, void* into);

 private:
  friend struct detail::sparse_access;
  using provider = std::function<void*(const sparse_call&)>;
  sparse_call(const sparse_blocks& mine, MPI_Comm comm, const options& o, const char* invalid_text,
              const provider& provide);
  struct state;
  std::unique_ptr<state> state_;
};

namespace detail {

/// For interfaces on top of the library. `invalid_text`: the error in the arguments; all ranks throw it. `provide`:
/// returns where the blocks are to be received, or null if there is no memory, which is an error on all ranks. Without
/// `provide` nothing is received.
struct sparse_access {
  static sparse_call make(const sparse_blocks& mine, MPI_Comm comm, const options& o, const char* invalid_text,
                          const sparse_call::provider& provide) {
    return {mine, comm, o, invalid_text, provide};
  }
};

}  // namespace detail

/// The result of a sparse exchange.
template <class T>
struct sparse_received {
  std::vector<int> sources;     ///< of each block, ascending
  std::vector<count_t> counts;  ///< elements of each block
  std::vector<T> data;          ///< all blocks, consecutively
};

/// Sends the first `counts[0]` elements of `data` to rank `destinations[0]`, the next `counts[1]` to `destinations[1]`,
/// and so on; returns the received data by source:
///
///     auto [sources, counts, data] = taquin::sparse_exchange(destinations, counts_to, particles, comm);
///
/// Blocking, collective; throws as taquin::sparse_call, and `usage_error` on every rank when there is not one count per
/// destination, or they do not add up to the length of `data`. A rank that has no memory for the result throws alone
/// (MPI_ERR_NO_MEM) where its peers have sent by then; otherwise all do. The
/// result is beside what `o.memory` allows, and so are 8 bytes per destination. Constructors of elements that call
/// taquin may do so on other communicators, as sparse_call::taker.
template <std::ranges::contiguous_range Destinations, count_range Counts, transferable_range Data>
[[nodiscard]] sparse_received<std::ranges::range_value_t<Data>> sparse_exchange(const Destinations& destinations,
                                                                                const Counts& counts, const Data& data,
                                                                                MPI_Comm comm, const options& o = {}) {
  using T = std::ranges::range_value_t<Data>;
  const std::span<const int> to(std::ranges::data(destinations), std::ranges::size(destinations));
  const detail::row_of_blocks row(detail::to_counts(counts), to.size());
  sparse_received<T> got;
  static_cast<void>(
      detail::sparse_access::make({std::ranges::data(data), to, count_view(row.counts.data()), datatype_of<T>()}, comm,
                                  o, detail::invalid_text_of(data, row), [&](const sparse_call& call) -> void* {
                                    got.sources.assign(call.sources().begin(), call.sources().end());
                                    got.counts.assign(call.counts().begin(), call.counts().end());
                                    got.data.resize(static_cast<std::size_t>(call.total()));
                                    return got.data.data();
                                  }));
  return got;
}

/// The same for pairs of a rank and a range of elements; pairs of a source and its elements come back. Beside the
/// memory of the other form it uses that of one copy of the sent and of the received data.
template <transferable T>
[[nodiscard]] std::vector<std::pair<int, std::vector<T>>> sparse_exchange(
    const std::vector<std::pair<int, std::vector<T>>>& blocks, MPI_Comm comm, const options& o = {}) {
  std::vector<int> to;
  std::vector<count_t> counts;
  std::vector<T> data;
  for (const auto& [rank, elements] : blocks) {
    to.push_back(rank);
    counts.push_back(static_cast<count_t>(elements.size()));
    data.insert(data.end(), elements.begin(), elements.end());
  }
  const auto got = sparse_exchange(to, counts, data, comm, o);
  std::vector<std::pair<int, std::vector<T>>> result;
  auto at = got.data.begin();
  for (std::size_t i = 0; i < got.sources.size(); ++i) {
    result.emplace_back(got.sources[i], std::vector<T>(at, at + got.counts[i]));
    at += got.counts[i];
  }
  return result;
}

/// The same for a map from ranks to their elements, and from sources to theirs.
template <transferable T>
[[nodiscard]] std::map<int, std::vector<T>> sparse_exchange(const std::map<int, std::vector<T>>& blocks, MPI_Comm comm,
                                                            const options& o = {}) {
  std::vector<std::pair<int, std::vector<T>>> pairs(blocks.begin(), blocks.end());
  std::map<int, std::vector<T>> result;
  for (auto& [rank, elements] : sparse_exchange(pairs, comm, o)) result.emplace(rank, std::move(elements));
  return result;
}

/// As sparse_exchange, but received data are passed to `take(source, elements)` in chunks of at most `chunk` elements,
/// ordered by source, and need not fit into memory: see sparse_call::deliver.
template <std::ranges::contiguous_range Destinations, count_range Counts, transferable_range Data, class Take>
void sparse_exchange_chunks(const Destinations& destinations, const Counts& counts, const Data& data, count_t chunk,
                            Take&& take, MPI_Comm comm, const options& o = {}) {
  using T = std::ranges::range_value_t<Data>;
  const std::span<const int> to(std::ranges::data(destinations), std::ranges::size(destinations));
  const detail::row_of_blocks row(detail::to_counts(counts), to.size());
  sparse_call call =
      detail::sparse_access::make({std::ranges::data(data), to, count_view(row.counts.data()), datatype_of<T>()}, comm,
                                  o, detail::invalid_text_of(data, row), nullptr);
  call.deliver(chunk, [&](const sparse_call::chunk& p) {
    take(call.sources()[p.block], std::span(static_cast<const T*>(p.data), static_cast<std::size_t>(p.count)));
  });
}

/// The ranks that have this one among their destinations, ascending: with `destinations` the input of
/// MPI_Dist_graph_create_adjacent. Blocking, collective; throws as taquin::sparse_call.
[[nodiscard]] inline std::vector<int> neighbours(MPI_Comm comm, std::span<const int> destinations,
                                                 const options& o = {}) {
  const sparse_call call({nullptr, destinations, count_view(0, 0), MPI_BYTE}, comm, o);
  return {call.sources().begin(), call.sources().end()};
}

}  // namespace taquin
