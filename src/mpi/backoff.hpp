// How a rank waits for something that another rank does: it polls a few times, then yields its processor after each
// poll, and lets the MPI library make progress now and then.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "mpi/check.hpp"
#include "mpi/simulated_time.hpp"
#include "mpi/watch.hpp"

namespace taquin::mpi {

/// Polls in a row before a rank yields its processor. 0 where the machine has more ranks than processors: there, what
/// it waits for may need this processor.
int looks_before_yielding() noexcept;

/// After many polls without success: makes progress with all that is started, looks at the clock where the call has a
/// timeout, then yields the processor. `what` describes what is waited for.
void idle(const awaited* what = nullptr);

class backoff {
 public:
  /// For waits that poll by calls of the MPI library.
  explicit backoff(const awaited* what = nullptr) noexcept : what_(what) {}
  /// For waits that poll memory: MPI_Iprobe for `tag` lets the library make progress.
  backoff(MPI_Comm comm, int tag, const awaited* what) noexcept : what_(what), comm_(comm), tag_(tag) {}

  /// To be called after a poll without success.
  void pause() {
    ++looks_;
    if (comm_ != MPI_COMM_NULL && looks_ % progress_every == 0) progress();
    if (looks_ > looks_before_yielding()) idle(what_);
  }
  /// To be called after a poll with success.
  void reset() noexcept { looks_ = 0; }
  /// Lets the MPI library make progress.
  void progress() const;

 private:
  static constexpr int progress_every = simulated ? 1 : 64;  // simulated time goes on in calls of the library

  const awaited* what_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int tag_ = 0;
  int looks_ = 0;
};

/// MPI_Wait for a request of this thread's, where must_look() is false. Ends with peer_aborted where another rank has
/// left.
int wait_inside(MPI_Request& request, MPI_Status* status);
/// MPI_Waitsome in the same way, for up to `most_waited_for` requests.
int wait_some_inside(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses);
constexpr std::size_t most_waited_for = 64;

/// Waits for a request as backoff does; throws what it ended with as mpi_error.
void complete(MPI_Request& request, const char* call, MPI_Status* status = MPI_STATUS_IGNORE);

/// The same for all of them.
void complete(std::span<MPI_Request> requests, const char* call);

/// Receives a message as MPI_Recv does, and waits so; what MPI returned.
int receive(std::span<std::byte> into, int from, int tag, MPI_Comm comm, MPI_Status& status);

}  // namespace taquin::mpi
