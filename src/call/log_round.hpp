// One round of an exchange in log rounds over MPI. The agreement and irregular Bruck share it.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "base/sizes.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/request_set.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// For each digit z of 1 … `digits`, rank u sends one message to u + z·weight and receives one from u − z·weight (mod
/// p). All messages are sent before any is received, so that a rank does all it can before it waits. Messages are
/// received one by one in the order of their digits, so that each can be placed right behind the one before.
/// `requests` has room for `digits`; messages are sent from `memory` or from what the communicator keeps. `ends` has
///   std::span<const std::byte> load(int digit) the message; unchanged until the round is complete
///   std::span<std::byte> buffer()                                   where the next message is received
///   void unload(int digit, std::span<const std::byte> from)       a message that has been received
template <class Ends>
void log_round(mpi::communicator& comm, int tag, count_t weight, int digits, std::span<MPI_Request> requests,
               std::pmr::memory_resource* memory, Ends&& ends) {
  const int p = comm.size();
  struct sends {
    std::span<MPI_Request> requests;
    mpi::communicator& comm;
    std::pmr::memory_resource* memory;
    ~sends() {
      bool pending = false;
      for (auto& request : requests) pending = mpi::abandon(request, mpi::request_kind::send) || pending;
      if (!pending) return;
      outlive(memory);
      comm.outlive();
    }
  };
  requests = requests.first(as_size(digits));
  std::ranges::fill(requests, MPI_REQUEST_NULL);
  const sends unfinished{requests, comm, memory};
  for (int z = 1; z <= digits; ++z) {
    const auto to = static_cast<int>((comm.rank() + z * weight) % p);
    const std::span<const std::byte> message = ends.load(z);
    TAQUIN_MPI(PMPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag, comm.get(),
                          &requests[as_size(z - 1)]));
  }
  for (int z = 1; z <= digits; ++z) {
    const auto from = static_cast<int>((comm.rank() - z * weight % p + p) % p);
    const std::span<std::byte> buffer = ends.buffer();
    MPI_Status status;
    mpi::check(mpi::receive(buffer, from, tag, comm.get(), status), "MPI_Recv");
    int bytes = 0;
    TAQUIN_MPI(PMPI_Get_count(&status, MPI_BYTE, &bytes));
    ends.unload(z, buffer.first(as_size(bytes)));
  }
  mpi::complete(requests, "MPI_Waitall");
}

}  // namespace taquin::detail
