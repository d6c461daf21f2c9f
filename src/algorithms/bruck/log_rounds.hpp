// The log rounds of irregular Bruck over MPI: of sizes and data together, or of sizes alone.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/bruck/bruck_v_state.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "call/log_round.hpp"
#include "mpi/communicator.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail::bruck {

/// One rank's part of `x`.
inline local_exchange local(const exchange& x, const mpi::communicator& comm) {
  return {.rank = comm.rank(), .ranks = comm.size(), .in_place = x.in_place, .send = x.send, .recv = x.recv};
}

/// Runs the log rounds of `machine`, whose messages have at most `capacity` bytes: it has outgoing(), the bytes of all
/// that a round sends, load(), receive_slot() and unload(). Collective.
template <class Machine>
void run_log_rounds(mpi::communicator& comm, int tag, const route& r, std::size_t capacity, Machine& machine,
                    std::pmr::memory_resource* memory) {
  struct ends {
    Machine& machine;
    count_t weight;
    std::size_t capacity;
    std::byte* next;
    std::span<const std::byte> load(int digit) {
      std::byte* const message = next;
      next += machine.load(weight, count_t{digit}, std::span(message, capacity));
      return {message, next};
    }
    std::span<std::byte> buffer() const { return {machine.receive_slot(), capacity}; }
    void unload(int digit, std::span<const std::byte> from) const { machine.unload(weight, count_t{digit}, from); }
  };
  const auto most = as_size(r.radix - 1);
  const raw_buffer buffer(machine.outgoing(), memory);
  std::pmr::vector<MPI_Request> requests(most, memory);
  for_each_weight(r.ranks, r.radix, [&](count_t weight) {
    const auto digits = static_cast<int>(std::min<count_t>(r.radix - 1, (r.ranks - 1) / weight));
    log_round(comm, tag, weight, digits, requests, memory, ends{machine, weight, capacity, buffer.data()});
  });
}

/// The bytes that it takes, if `messages` is what outgoing() returns.
inline std::size_t log_rounds_bytes(const route& r, std::size_t messages) noexcept {
  return messages + as_size(r.radix - 1) * sizeof(MPI_Request);
}

}  // namespace taquin::detail::bruck
