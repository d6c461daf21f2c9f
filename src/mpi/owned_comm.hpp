// Move-only owner of a communicator. One that an error takes away is not freed: peers may still send messages on it, and MPI
// libraries give a freed context to the next communicator, which would receive them.
#pragma once

#include <mpi.h>

#include <exception>
#include <utility>

#include "mpi/check.hpp"

namespace taquin::mpi {

class owned_comm {
 public:
  owned_comm() noexcept = default;
  explicit owned_comm(MPI_Comm comm) noexcept : comm_(comm) {}
  owned_comm(owned_comm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  owned_comm& operator=(owned_comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~owned_comm() {
    if (comm_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0 && !finalized()) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace taquin::mpi
