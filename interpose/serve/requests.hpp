// Requests of the program that taquin serves or observes until they are complete.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "interpose/clock.hpp"
#include "interpose/event.hpp"
#include "interpose/serve/served_exchange.hpp"
#include "mpi/owned.hpp"

namespace taquin::interpose {

/// How many there are: while there is none, calls that start and complete requests go straight on.
extern std::atomic<int> tracked_requests;

/// One such request. Threads complete different ones concurrently. A thread that has completed one of the MPI library's
/// takes it out of the table afterwards, and another one may get its handle from the MPI library before that. So who
/// takes an entry out completes it, and an entry that is not persistent never stands for an inactive request: it is
/// active. For a served persistent exchange the program holds the MPI library's own request, which stays
/// inactive while the plan runs. Everything else that the program does with it goes to the MPI library.
class tracked_request {
 public:
  /// The record of each start for a recording or a report.
  struct observation {
    persistent_call call;  ///< of name_persistent
    call_kind kind = call_kind::alltoall;
    const void* site = nullptr;
    moved data;
    outcome left;  ///< why the MPI library does it
  };

  /// A persistent exchange. `served` is null where the MPI library does all starts.
  tracked_request(MPI_Comm comm, std::unique_ptr<served_exchange> served) : comm_(comm), served_(std::move(served)) {}
  /// Its starts are recorded.
  void observe(observation o) { observed_ = std::move(o); }
  /// A nonblocking exchange that `server` may do, or whose time it records. Where it does it, the program holds
  /// `stand_in` until it is complete. Both may be none.
  tracked_request(MPI_Comm comm, std::unique_ptr<served_exchange> server, mpi::inactive_request stand_in)
      : comm_(comm), served_(std::move(server)), stand_in_(std::move(stand_in)), persistent_(false) {}
  /// It has started, by its server or by the MPI library.
  void posted(bool by_server, const call_in_flight& call) noexcept {
    active_ = by_server ? by::plan : by::library;
    call_ = call;
  }
  [[nodiscard]] MPI_Request stand_in() const noexcept { return stand_in_.get(); }

  [[nodiscard]] bool persistent() const noexcept { return persistent_; }
  [[nodiscard]] bool active() const noexcept { return !persistent_ || active_ != by::none; }
  [[nodiscard]] bool active_by_plan() const noexcept { return active_ == by::plan; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  /// Starts it; `native` is the MPI library's start. MPI's error code, which the program has got.
  template <class Native>
  int start(Native&& native) noexcept;
  /// Of one that is active by its plan: tests whether it is complete, or waits until it is.
  [[nodiscard]] bool poll() noexcept;
  void finish() noexcept;
  /// Its result: an MPI error code.
  [[nodiscard]] int code() const noexcept { return code_; }
  /// It is complete, and the program completes it now; `seconds` were spent on that.
  void completed(double seconds) noexcept;
  /// So much time went by in calls that did not complete it.
  void spent(double seconds) noexcept { spent_.fetch_add(seconds, std::memory_order_relaxed); }

 private:
  friend class request_table;
  enum class by : std::uint8_t { none, library, plan };

  by next();
  int refuse_start() noexcept;
  int started(by who, double started_at) noexcept;
  int fail_start() noexcept;
  [[nodiscard]] outcome left_to_library() const;

  MPI_Request handle_ = MPI_REQUEST_NULL;
  std::shared_ptr<tracked_request> next_;  // in a list of the table
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<served_exchange> served_;
  mpi::inactive_request stand_in_;
  std::optional<observation> observed_;
  call_in_flight call_{};
  std::atomic<double> spent_{0};
  std::uint64_t starts_ = 0;
  int code_ = MPI_SUCCESS;
  std::atomic<by> active_{by::none};
  bool persistent_ = true;
  bool done_ = false;     // the plan, but not yet for the program
  bool sampled_ = false;  // the MPI library does it to be compared
};

/// Serves `request` from now on.
void track(MPI_Request request, std::shared_ptr<tracked_request> r) noexcept;
/// Null for a request that is not tracked.
std::shared_ptr<tracked_request> tracked(MPI_Request request) noexcept;
/// Forgets it; with `which` only that one. True if it was there.
bool untrack(MPI_Request request, const tracked_request* which = nullptr) noexcept;
/// Before MPI is finalised.
void untrack_all() noexcept;

template <class Native>
int tracked_request::start(Native&& native) noexcept {
  if (active()) return refuse_start();
  const double started_at = now();
  by who = by::library;
  try {
    who = next();
    if (who == by::plan) served_->start();
  } catch (...) {
    return fail_start();
  }
  if (who == by::library)
    if (const int code = native(); code != MPI_SUCCESS) return code;
  return started(who, started_at);
}

}  // namespace taquin::interpose
