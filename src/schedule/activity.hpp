// The actions of a running schedule, for the trace of the preloaded library. By default there is no observer; then each
// event costs one test of a pointer.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace taquin::detail {

/// Receives events of rounds and messages, on the schedule's thread. Throws nothing and makes no call that waits.
class activity {
 public:
  enum class direction : std::uint8_t { sends, receives };

  /// Returns the argument for completes().
  virtual std::uint32_t begins(std::size_t round) noexcept = 0;
  /// A message with the plan's tag + `tag` is posted; `peer` is a rank of `comm`. Returns the argument for completes().
  virtual std::uint32_t posts(direction which, MPI_Comm comm, int peer, int tag, std::uint64_t bytes) noexcept = 0;
  virtual void completes(std::uint32_t reported) noexcept = 0;

 protected:
  ~activity() = default;
};

/// Set before the program's first exchange and never taken back.
inline constinit activity* activity_observer = nullptr;

}  // namespace taquin::detail
