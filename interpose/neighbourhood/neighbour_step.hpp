// Neighbourhood collectives between nodes: a step that all ranks of the communicator take together, in which two nodes
// exchange one message each way (node/internode.hpp), has the blocks that fit into it. Longer ones are messages, whose
// receives are posted before the step. Only for blocking calls, which may wait for all ranks.
//
// Rounds: 1. Bytes: each block twice through shared memory, and once on a link where it leaves its node. Memory: that
// of the step.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/communicator.hpp"
#include "mpi/request_set.hpp"
#include "node/internode.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

class neighbour_step {
 public:
  /// Of a block in a step. Longer ones take longer there than as messages.
  static constexpr std::size_t most_bytes = 4096;

  /// For the ranks of `comm`, each with its sources and destinations, MPI_PROC_NULL where there is none. Collective.
  /// Null on all ranks where they cannot take such steps, or a rank is twice a neighbour of another. A rank without
  /// memory for what all ranks of `comm` share aborts: the others throw peer_aborted.
  static std::unique_ptr<neighbour_step> make(MPI_Comm comm, std::span<const int> sources,
                                              std::span<const int> destinations);
  neighbour_step(const neighbour_step&) = delete;
  neighbour_step& operator=(const neighbour_step&) = delete;
  ~neighbour_step();

  /// The k-th block of a side is for the k-th neighbour. Throws usage_error (MPI_ERR_TRUNCATE) at the end if a
  /// neighbour has sent more than is expected; the bytes that fit have been received. Any other error makes this rank
  /// abort the call.
  void exchange(const blocks& send, const blocks& recv);
  /// In the last call some rank had a block that did not fit into the step. The same on all ranks.
  [[nodiscard]] bool had_messages() const noexcept { return had_messages_; }
  [[nodiscard]] std::size_t memory() const noexcept { return step_.share(); }
  [[nodiscard]] mpi::communicator& comm() const noexcept { return *comm_; }

 private:
  neighbour_step(mpi::communicator& comm, detail::internode& step);
  void run(const blocks& send, const blocks& recv);
  [[nodiscard]] bool fits(const block& b) const noexcept {
    return detail::as_size(b.bytes()) <= std::min(step_.most_bytes(), most_bytes);
  }
  void write(const blocks& send);
  void take(std::size_t source, const block& b, const blocks& recv);
  void truncated(int peer, count_t bytes, count_t space) noexcept;
  bool messages_complete(const blocks& recv, bool block);

  mpi::communicator::lease comm_;
  detail::internode& step_;
  std::vector<int> sources_, destinations_;
  std::vector<int> block_for_;         // of each rank; -1: none
  std::vector<MPI_Request> messages_;  // receives by source, then sends by destination
  int tag_ = 0;
  bool had_messages_ = false;
  std::optional<mpi::truncation> truncation_;  // the first of the call
};

}  // namespace taquin::interpose
