// The record of a process of the program's calls.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "interpose/call_site.hpp"
#include "interpose/clock.hpp"
#include "interpose/event.hpp"
#include "interpose/observe/known_calls.hpp"
#include "interpose/observe/log.hpp"
#include "interpose/observe/trace.hpp"

namespace taquin::interpose {

/// Entries of a communicator until waiting is told apart. From the call after so many on, entries of each
/// `sampled_entry`th call are kept, and stand for the others.
inline constexpr std::size_t most_open = 512;
inline constexpr std::uint64_t sampled_entry = 8;

/// A communicator whose name has not arrived yet, because its first call was nonblocking.
struct naming {
  MPI_Request request = MPI_REQUEST_NULL;
  std::array<int, 2> name{};
  std::size_t comm = 0;  // index into rank_log::comms
};

/// A rank's entry into a call.
struct open_entry {
  std::uint64_t begin = 0;  // of the tick clock
  std::uint32_t run = entry::failed;
  std::uint32_t site = 0;
  double seconds = 0;
};

/// The record of a communicator.
struct observed_comm {
  std::uint32_t index = 0;  // in the log
  int size = 0;
  std::uint64_t calls = 0;       // blocking ones
  std::uint64_t numbered = 0;    // of all forms but persistent ones
  std::uint64_t persistent = 0;  // that were made
  known_call* last = nullptr;    // of this communicator, or it has become another's
  const place* last_place = nullptr;
  std::uint32_t stands_for = 1;  // calls, each entry that is open
  std::vector<open_entry> open;
};

struct recorder_state {
  std::mutex mutex;
  bool threads = false;  // calls may come from several concurrently
  bool full = false;     // the report
  bool records = false;
  bool places = false;  // call sites are told apart
  trace traced;
  tick_clock clock;
  log_writer writer;
  std::deque<observed_comm> comms;
  MPI_Comm last_comm = MPI_COMM_NULL;  // that was looked up
  observed_comm* last_found = nullptr;
  std::deque<naming> names;
  known_calls known;
  using site_key = std::tuple<const place*, std::uint32_t, workloads::call_kind, call_form>;
  std::map<site_key, std::uint32_t> sites;
  std::set<std::string> reasons;  // texts of errors
  int keyval = MPI_KEYVAL_INVALID;
  int named = 0;  // communicators that this rank has named
  int node = 0;
  int in_flight = 0;  // calls that are started and not complete
  double offset = 0;  // of this rank's clock from rank 0's
  double begin = 0;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(other_call::kinds)> counts{};

  static recorder_state& get() noexcept { return *one; }

 private:
  static recorder_state* const one;
};

/// Keeps other threads out where there may be any. Never held while this rank waits for others.
class state_lock {
 public:
  explicit state_lock(recorder_state& s) noexcept : mutex_(s.threads ? &s.mutex : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  state_lock(const state_lock&) = delete;
  state_lock& operator=(const state_lock&) = delete;
  ~state_lock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }

 private:
  std::mutex* mutex_;
};

/// The record of the communicator, null where it is left out. Its first call agrees on its name (call_event).
observed_comm* look_up(recorder_state& s, MPI_Comm comm, call_form form);
inline observed_comm* find(recorder_state& s, MPI_Comm comm, call_form form) {
  {
    const state_lock lock(s);
    if (comm == s.last_comm) return s.last_found;
  }
  return look_up(s, comm, form);
}
/// The world ranks of an intracommunicator's ranks; empty when some process is of another world.
std::vector<int> world_ranks_of(MPI_Comm comm, int size);
/// Called when a communicator is freed: its handle may be reused for another one.
int forget_communicator(MPI_Comm comm, int keyval, void* value, void* state);
/// Waits for the names that have not arrived.
void complete_names(recorder_state& s);

/// Finds the last rank of each call. All ranks have made equally many calls on the communicator.
void report_waiting_apart(observed_comm& c, MPI_Comm comm);
/// The rest of that, for the log.
void keep_open_entries(recorder_state& s);

}  // namespace taquin::interpose
