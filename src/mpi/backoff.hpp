// How a rank waits for an action of another rank: it polls a few times, then yields its core after each poll, and
// progresses the MPI library now and then.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "mpi/check.hpp"
#include "mpi/deadline.hpp"
#include "mpi/simulated_time.hpp"

namespace taquin::mpi {

/// Consecutive polls before a rank yields its core. 0 where ranks are oversubscribed: there, the rank that is waited
/// for may need this core.
int polls_before_yielding() noexcept;

/// After many unsuccessful polls: progresses all started operations, checks the deadline if the call has a timeout,
/// then yields the core. `what` describes what is waited for.
void idle(const awaited* what = nullptr);

class backoff {
 public:
  /// For waits that poll by calls of the MPI library.
  explicit backoff(const awaited* what = nullptr) noexcept : what_(what) {}
  /// For waits that poll memory: MPI_Iprobe for `tag` progresses the library.
  backoff(MPI_Comm comm, int tag, const awaited* what) noexcept : what_(what), comm_(comm), tag_(tag) {}

  /// To be called after a poll without success.
  void pause() {
    ++polls_;
    if (comm_ != MPI_COMM_NULL && polls_ % progress_every == 0) progress();
    if (polls_ > polls_before_yielding()) idle(what_);
  }
  /// To be called after a poll with success.
  void reset() noexcept { polls_ = 0; }
  /// Progresses the MPI library.
  void progress() const;

 private:
  static constexpr int progress_every = simulated ? 1 : 64;  // simulated time advances in calls of the library

  const awaited* what_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int tag_ = 0;
  int polls_ = 0;
};

/// MPI_Wait for a request of this thread's, if must_look() is false. Ends with peer_aborted if another rank has
/// aborted.
int wait_inside(MPI_Request& request, MPI_Status* status);
/// MPI_Waitsome with the same polling, for up to `most_waited_for` requests.
int wait_some_inside(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses);
constexpr std::size_t most_waited_for = 64;

/// Waits for a request as backoff does; throws its error as mpi_error.
void complete(MPI_Request& request, const char* call, MPI_Status* status = MPI_STATUS_IGNORE);

/// The same for all of them.
void complete(std::span<MPI_Request> requests, const char* call);

/// Receives a message as MPI_Recv does, and waits as above; returns MPI's result.
int receive(std::span<std::byte> into, int from, int tag, MPI_Comm comm, MPI_Status& status);

}  // namespace taquin::mpi
