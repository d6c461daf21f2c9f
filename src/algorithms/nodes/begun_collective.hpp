// A nonblocking collective of the MPI library that ranks begin in one start of a program's calls and use in a later
// one, so that no start waits for ranks that are not far behind.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

namespace taquin::detail {

class begun_collective {
 public:
  begun_collective() = default;
  begun_collective(const begun_collective&) = delete;
  begun_collective& operator=(const begun_collective&) = delete;
  ~begun_collective() { give_up(); }

  /// For the call that begins it. Its buffers live until it is complete.
  [[nodiscard]] MPI_Request* request() noexcept { return &pending_; }
  /// Completes it, in the start of a call on `comm` of this number. The wait has the timeout of calls; `algorithm` is
  /// what it reports.
  void wait(MPI_Comm comm, std::uint64_t number, std::string_view algorithm);
  /// Completes what is under way, for ranks that no longer need it.
  void give_up() noexcept;
  /// A wait had an error: the MPI library still uses this object and the buffers, which must stay.
  [[nodiscard]] bool must_stay() const noexcept { return must_stay_; }

 private:
  MPI_Request pending_ = MPI_REQUEST_NULL;
  bool must_stay_ = false;
};

}  // namespace taquin::detail
