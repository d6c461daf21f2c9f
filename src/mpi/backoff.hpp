// How a rank waits for something that another rank does: it looks a few times, then gives its processor away each time
// that it has looked, and lets the MPI library make progress now and then.
#pragma once

#include <mpi.h>

namespace taquin::mpi {

/// Looks in a row before a rank gives its processor away: none where the machine has more ranks than processors,
/// because what it waits for cannot happen meanwhile.
int looks_before_yielding() noexcept;

class backoff {
 public:
  /// For what is looked for by calls of the MPI library.
  backoff() noexcept = default;
  /// For what is looked for in memory: MPI_Iprobe for `tag` lets the library make progress.
  backoff(MPI_Comm comm, int tag) noexcept : comm_(comm), tag_(tag) {}

  /// After a look that has found nothing.
  void pause() {
    ++looks_;
    if (comm_ != MPI_COMM_NULL && looks_ % progress_every == 0) progress();
    if (looks_ > looks_before_yielding()) yield();
  }
  /// Something was found.
  void reset() noexcept { looks_ = 0; }
  /// Lets the MPI library make progress.
  void progress() const;

 private:
  static constexpr int progress_every = 64;
  static void yield() noexcept;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int tag_ = 0;
  int looks_ = 0;
};

}  // namespace taquin::mpi
