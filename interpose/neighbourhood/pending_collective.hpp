// A nonblocking collective of the MPI library that ranks start in one call of the program and use in a later one.
// Starts only test it; a blocking call may wait.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>

namespace taquin::interpose {

class pending_collective {
 public:
  pending_collective() = default;
  pending_collective(const pending_collective&) = delete;
  pending_collective& operator=(const pending_collective&) = delete;
  ~pending_collective() { give_up(); }

  /// For the call that starts it. Its buffers live until it is complete.
  [[nodiscard]] MPI_Request* request() noexcept { return &pending_; }
  /// True once it is complete.
  [[nodiscard]] bool test();
  /// Completes it, in a blocking call on `comm` of this number. The wait has the timeout of calls; its report names
  /// `algorithm`.
  void wait(MPI_Comm comm, std::uint64_t number, std::string_view algorithm);
  /// Completes a pending one, for ranks that no longer need it. If a rank never starts it, which breaks MPI's rules,
  /// the request stays pending after some seconds.
  void give_up() noexcept;
  /// It could not be completed: the MPI library still uses this object and the buffers, which must stay.
  [[nodiscard]] bool must_stay() const noexcept { return must_stay_; }

 private:
  MPI_Request pending_ = MPI_REQUEST_NULL;
  bool must_stay_ = false;
};

}  // namespace taquin::interpose
