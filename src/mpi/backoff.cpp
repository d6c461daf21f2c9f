#include "mpi/backoff.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/progress.hpp"
#include "mpi/request_set.hpp"

namespace taquin::mpi {

namespace {

// Ranks of this job on this machine, as launchers report them. If they do not, all ranks might be here.
long local_ranks() noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* text = std::getenv(name); text != nullptr)
      if (const long n = std::strtol(text, nullptr, 10); n > 0) return n;
  int all = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &all);
  return all;
}

// A message of one rank.
class message_of final : public awaited {
 public:
  message_of(int from, MPI_Comm comm) noexcept : from_(from), comm_(comm) {}
  void describe(wait_record& to) const override {
    to.what = "agreeing";
    to.comm = comm_;
    to.miss(from_);
  }

 private:
  int from_;
  MPI_Comm comm_;
};

}  // namespace

int polls_before_yielding() noexcept {
  constexpr int polls = 32;
  static const bool oversubscribed = local_ranks() > sysconf(_SC_NPROCESSORS_ONLN);
  return oversubscribed ? 0 : polls;
}

void idle(const awaited* what) {
  if (anything_started()) progress_started();
  deadline::poll(what);
  present::poll();
  set_up_scope::poll();
  sched_yield();
}

int wait_inside(MPI_Request& request, MPI_Status* status) {
  communicator* const joined = present::current();
  return joined != nullptr ? joined->wait(request, status) : PMPI_Wait(&request, status);
}

int wait_some_inside(int n, MPI_Request* requests, int* done, int* numbers, MPI_Status* statuses) {
  communicator* const joined = present::current();
  return joined != nullptr ? joined->wait_some(n, requests, done, numbers, statuses)
                           : PMPI_Waitsome(n, requests, done, numbers, statuses);
}

void complete(MPI_Request& request, const char* call, MPI_Status* status) {
  if (!must_poll()) return check(wait_inside(request, status), call);
  int done = 0;
  for (backoff waiting;; waiting.pause()) {
    check(PMPI_Test(&request, &done, status), call);
    if (done != 0) return;
  }
}

void complete(std::span<MPI_Request> requests, const char* call) {
  for (auto& request : requests) complete(request, call);
}

namespace {

// Waits until there is a message, which may then be received.
void await_message(int from, int tag, MPI_Comm comm, MPI_Status& status) {
  const message_of sender(from, comm);
  for (backoff waiting(&sender);; waiting.pause()) {
    int there = 0;
    check(PMPI_Iprobe(from, tag, comm, &there, &status), "MPI_Iprobe");
    if (there != 0) return;
  }
}

}  // namespace

int receive(std::span<std::byte> into, int from, int tag, MPI_Comm comm, MPI_Status& status) {
  const auto size = static_cast<int>(into.size());
  if (!must_poll()) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Irecv(into.data(), size, MPI_BYTE, from, tag, comm, &request), "MPI_Irecv");
    try {
      const int code = wait_inside(request, &status);
      abandon(request, request_kind::receive);  // where the wait itself has failed
      return code;
    } catch (...) {
      abandon(request, request_kind::receive);
      throw;
    }
  }
  await_message(from, tag, comm, status);
  return PMPI_Recv(into.data(), size, MPI_BYTE, from, tag, comm, &status);
}

void backoff::progress() const {
  int any = 0;
  check(PMPI_Iprobe(MPI_ANY_SOURCE, tag_, comm_, &any, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

}  // namespace taquin::mpi
