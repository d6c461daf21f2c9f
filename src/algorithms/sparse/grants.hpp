// The data of a sparse exchange: a receiver requests chunks, a sender answers each request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/sparse/headers.hpp"
#include "algorithms/sparse/node_step.hpp"
#include "base/arrays.hpp"
#include "base/raw_buffer.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/progress.hpp"
#include "mpi/request_set.hpp"
#include "taquin/exchange.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

/// One run of it on one rank. A receive is posted before its chunk is requested, so a sender's messages are never
/// unexpected; the chunks of one sender arrive in the order of their requests. A sender keeps the receive of a request
/// posted as long as some of its elements have not been requested.
class sparse_grants final : private mpi::awaited, private mpi::started {
 public:
  static constexpr int request_tag = 1;  ///< beside the plan's first tag
  static constexpr int data_tag = 2;
  static constexpr std::size_t request_bytes = 2 * sizeof(std::int64_t);

  /// Chunks that are in flight, at most.
  struct window {
    std::size_t to_here = 1;
    std::size_t from_here = 1;
  };
  /// `of_sender`: requests that one sender has at a time. `chunk`: bytes of one that waits here; 0: none does.
  sparse_grants(mpi::communicator& comm, int tag, const sparse_data& mine, std::span<const header> blocks,
                const window& w, std::size_t of_sender, std::size_t chunk, std::pmr::memory_resource* memory);
  static std::size_t footprint(const window& w, std::size_t chunk) noexcept;

  /// Before the run.
  void set_tag(int first) noexcept { tag_ = first; }
  /// All blocks, consecutively.
  void receive(std::byte* into);
  /// None of the blocks, for which this rank has no place: their senders are notified.
  void refuse();
  /// In chunks of at most so many elements, in order. Returns the first exception of `take`; the call is complete all
  /// the same.
  [[nodiscard]] std::exception_ptr deliver(count_t elements, const sparse_call::taker& take);

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_; }

 private:
  struct request {  // for a chunk
    std::int64_t first = 0;
    std::int64_t count = 0;  // less than 0: so many are not wanted
  };
  static_assert(sizeof(request) == request_bytes);
  struct buffer {
    std::size_t block = 0;
    count_t first = 0;  // in the block
    count_t count = 0;
    bool busy = false;
    bool arrived = false;
  };

  void run();
  bool post_requests();
  bool answer();
  bool answered();
  bool hand_over();
  bool poll();
  void await_request();
  [[nodiscard]] std::size_t free_buffer() const noexcept;
  [[nodiscard]] bool all_requested() noexcept;
  [[nodiscard]] bool done() noexcept;
  [[nodiscard]] std::byte* place(std::size_t s) const noexcept;
  void give(const buffer& s, const std::byte* data);
  void describe(mpi::wait_record& to) const override;
  // While the caller's function waits in another call: requests of others are answered, and chunks arrive. Nothing is
  // requested.
  bool advance() override;
  void await() override {}

  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t to_here, std::size_t chunk) {
    each(&sparse_grants::buffers_, to_here);
    each(&sparse_grants::requested_, to_here + 1);
    each(&sparse_grants::staging_, to_here * chunk);
  }
  static constexpr std::size_t requests_of(const window& w) noexcept { return 2 * w.to_here + w.from_here + 1; }
  // Numbers of requests: receives of chunks, requests for them, outgoing chunks, the incoming request.
  [[nodiscard]] std::size_t first_request() const noexcept { return buffers_.size(); }
  [[nodiscard]] std::size_t first_send() const noexcept { return 2 * buffers_.size(); }
  [[nodiscard]] std::size_t incoming_request() const noexcept { return requests_.size() - 1; }

  mpi::communicator& comm_;
  int tag_;
  sparse_data mine_;
  std::span<const header> blocks_;
  std::size_t of_sender_;
  std::size_t chunk_;
  std::pmr::vector<buffer> buffers_;
  std::pmr::vector<request> requested_;  // of each slot, and the incoming one
  raw_buffer staging_;
  mpi::request_set requests_;  // last: ended first
  std::byte* into_ = nullptr;
  count_t most_ = 0;  // elements of a chunk; 0: whole blocks
  bool refuses_ = false;
  const sparse_call::taker* take_ = nullptr;
  std::exception_ptr failure_;
  std::exception_ptr broken_;  // while the caller's function was running
  std::size_t block_ = 0;      // the next chunk to be requested
  count_t first_ = 0;
  count_t before_ = 0;       // elements of the blocks before it
  int sender_ = -1;          // of the chunk that was requested last
  std::size_t awaited_ = 0;  // chunks of this sender's that have not arrived
  std::uint64_t chunks_requested_ = 0;
  std::uint64_t given_ = 0;  // in order
  count_t sent_ = 0;
  int requester_ = -1;  // the source of the request that has arrived; -1: none
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace taquin::detail
