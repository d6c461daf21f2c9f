// One exchange as one rank sees it: the places of blocks, their data, and whether they arrived.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "workloads/traffic.hpp"

namespace taquin::harness {

enum class buffering {
  separate,    ///< a send and a receive buffer, guard bytes around every block where counts vary
  one_buffer,  ///< any counts in one buffer, consecutive blocks on both sides
  in_place     ///< MPI_IN_PLACE: each pair's blocks have the same place and size
};

/// Memory that all problems of a run share, because they run one after the other.
struct arena {
  std::pmr::memory_resource* from = std::pmr::new_delete_resource();
  std::pmr::vector<std::byte> send{from};
  std::pmr::vector<std::byte> recv{from};
  const void* sender = nullptr;  ///< the problem whose data `send` holds
};

/// How a program makes the call.
struct how_called {
  workloads::call_form form = workloads::call_form::blocking;
  int in_flight = 0;  ///< calls in flight when it begins
  MPI_Comm neighbours =
      MPI_COMM_NULL;  ///< a graph of the ranks that exchange: between neighbours, in the order of ranks
};

/// A call in two parts; without an end the first one does all.
struct operation {
  std::function<void()> begin;
  std::function<void()> end;
  /// Both.
  void operator()() const {
    begin();
    if (end) end();
  }
};

class problem {
 public:
  /// Bytes to and from each rank of `comm`. A rank outside of the communicator (MPI_COMM_NULL) has none.
  problem(MPI_Comm comm, exchange::form kind, buffering how, std::vector<count_t> sent, std::vector<count_t> received,
          std::uint64_t repeats = 1, how_called called = {});

  /// Makes the arena large enough. Before anything that takes addresses in it.
  void reserve(arena& memory) const;
  /// Data to send in place, everything that is to be received poisoned.
  void fill(arena& memory) const;
  /// Bytes of this rank's buffers that are not what they must be, guards and the send buffer included.
  [[nodiscard]] count_t wrong_bytes(const arena& memory) const;

  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] bool takes_part() const noexcept { return comm_ != MPI_COMM_NULL; }
  /// True on one rank of the communicator.
  [[nodiscard]] bool leads() const noexcept { return takes_part() && rank_ == 0; }
  [[nodiscard]] buffering how() const noexcept { return how_; }
  /// Times that it runs back to back.
  [[nodiscard]] std::uint64_t repeats() const noexcept { return repeats_; }
  [[nodiscard]] count_t bytes_sent() const noexcept { return send_.total; }
  /// Messages and bytes to other ranks, as one message per block.
  void account(statistics& s) const;
  /// The agreed shape. Collective over the communicator.
  [[nodiscard]] detail::shape shape() const;

  /// The exchange; views of this problem and of the arena.
  [[nodiscard]] exchange make(arena& memory) const;
  [[nodiscard]] const how_called& called() const noexcept { return called_; }
  /// A blocking call of the library, all its preparation included.
  [[nodiscard]] operation blocking(arena& memory, const options& o) const;
  /// A plan made here, its start and its wait. Collective over the communicator.
  [[nodiscard]] operation persistent(arena& memory, const options& o) const;
  /// The MPI library's own call, its arguments prepared here, blocking or not and between neighbours as the program
  /// makes it; instead of a persistent one a nonblocking one. Out of place where MPI has no such call in place.
  [[nodiscard]] operation native(arena& memory) const;

 private:
  struct side {
    std::vector<count_t> counts;
    std::vector<count_t> displs;
    count_t total = 0;
    count_t size = 0;  ///< of the buffer, guards included
  };
  void lay_out(side& s) const;
  [[nodiscard]] bool in_rows() const noexcept;
  [[nodiscard]] count_t recv_size() const noexcept;

  MPI_Comm comm_;
  exchange::form kind_;
  buffering how_;
  int rank_ = 0;
  int ranks_ = 0;
  [[nodiscard]] operation native_among_neighbours(arena& memory) const;

  std::uint64_t repeats_;
  how_called called_;
  side send_;
  side recv_;
  std::vector<MPI_Datatype> types_;  // alltoallw
};

}  // namespace taquin::harness
