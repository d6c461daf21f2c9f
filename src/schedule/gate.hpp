// A barrier of messages without data, before an exchange that could flood a late rank: when it is complete, every rank
// of the communicator has posted its receives.
#pragma once

#include <mpi.h>

#include <memory_resource>

#include "mpi/request_set.hpp"

namespace taquin::detail {

/// A dissemination in ⌈log2 p⌉ rounds. It describes the awaited messages, for the report of a timeout.
class gate {
 public:
  /// Local. Messages have `tag`.
  gate(MPI_Comm comm, int tag, const mpi::awaited* what, std::pmr::memory_resource* memory);

  void start();
  /// True when all ranks have started.
  bool over(bool block);
  /// The same, as far as this rank knows. Until then others may wait for messages that it forwards.
  [[nodiscard]] bool is_over() const noexcept { return distance_ >= ranks_; }
  /// Bytes that it takes beside itself.
  static constexpr std::size_t bytes() noexcept { return mpi::request_set::bytes(2); }

 private:
  void step();

  MPI_Comm comm_;
  int tag_;
  int rank_ = 0;
  int ranks_ = 1;
  long distance_ = 0;
  mpi::request_set requests_;
};

}  // namespace taquin::detail
