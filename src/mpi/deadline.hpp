// A rank that waits too long reports it, once. Only slow branches check the deadline: those in which a waiting rank
// yields its core.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "mpi/progress.hpp"

namespace taquin::mpi {

/// The state of a wait as far as the waiting rank knows it.
struct wait_record {
  std::string what;               ///< "round 2 of 3"
  std::vector<int> missing;       ///< ranks of `comm` that have not arrived or answered; empty: not known
  MPI_Comm comm = MPI_COMM_NULL;  ///< null: the call's own

  void miss(int rank);
};

/// An object that ranks wait for.
class awaited {
 public:
  virtual void describe(wait_record& to) const = 0;

 protected:
  ~awaited() = default;
};

/// The call that this thread is in, if it has a timeout: from its beginning to its end. Only time in which it looks at
/// the clock counts. In a longer gap than a tenth of the timeout it works, or has no core, and others may wait for it.
class deadline {
 public:
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

  /// Must be called in a slow branch. Throws if a timeout is an error.
  static void poll(const awaited* what) {
    if (current_ != nullptr) [[unlikely]]
      current_->poll_clock(what);
  }
  [[nodiscard]] static bool on() noexcept { return current_ != nullptr; }

  /// Scope guard: all ranks have entered, and do together what none can abort. Extends the deadline of this thread to
  /// at least five seconds and restarts the timeout on exit. Otherwise a rank whose timeout ends while the last rank
  /// arrives would abort after others have completed.
  class all_are_here {
   public:
    all_are_here() noexcept;
    all_are_here(const all_are_here&) = delete;
    all_are_here& operator=(const all_are_here&) = delete;
    ~all_are_here();

   private:
    deadline* deadline_;
  };

  /// Scope guard: this thread does not wait for the call. Stops the timeout and restarts it on exit.
  class paused {
   public:
    paused() noexcept : deadline_(current_) { current_ = nullptr; }
    paused(const paused&) = delete;
    paused& operator=(const paused&) = delete;
    ~paused() {
      current_ = deadline_;
      if (deadline_ != nullptr) [[unlikely]]
        deadline_->begin();
    }

   private:
    deadline* deadline_;
  };

 protected:
  explicit deadline(double seconds);
  ~deadline() { current_ = outer_; }
  [[nodiscard]] double waited() const;

 private:
  void begin() noexcept { started_at_ = polled_ = PMPI_Wtime(); }
  void poll_clock(const awaited* what);
  /// Once, after the timeout.
  virtual void expired(const awaited* what) = 0;

  static constinit thread_local deadline* current_;
  deadline* outer_;
  double started_at_ = 0;
  double polled_ = 0;  // at the clock
  double seconds_;
  double not_before_ = 0;  // when it may expire
  bool reported_ = false;
};

class communicator;

/// Scope guard: this thread is in a call on a communicator. If another rank has aborted a call on it, waits end with an
/// error. The aborting rank notifies the others (communicator::leave).
class present {
 public:
  /// Null: as before.
  explicit present(communicator* comm) noexcept : outer_(current_) {
    if (comm != nullptr) current_ = comm;
  }
  present(const present&) = delete;
  present& operator=(const present&) = delete;
  ~present() { current_ = outer_; }

  /// Must be called after a poll without success. Throws peer_aborted.
  static void poll() {
    if (on()) check_for_aborts();
  }
  /// The object of this thread; null where it is in no call.
  [[nodiscard]] static communicator* current() noexcept { return on() ? current_ : nullptr; }
  [[nodiscard]] static bool on() noexcept {
#ifdef TAQUIN_SMPI  // where a poll takes simulated time
    return false;
#else
    return current_ != nullptr;
#endif
  }

 private:
  static void check_for_aborts();

  static constinit thread_local communicator* current_;
  communicator* outer_;
};

/// Where a rank polls for failure notifications.
class abort_source {
 public:
  /// Throws peer_aborted if there are any.
  virtual void check_for_aborts() const = 0;

 protected:
  ~abort_source() = default;
};

/// Scope guard: this thread makes, together with the other ranks, the objects of the first call on a communicator:
/// ranks have nothing yet in which they could be `present`.
class set_up_scope {
 public:
  /// Null: there are no failure notifications to poll for.
  explicit set_up_scope(const abort_source* all) noexcept { current_ = all; }
  set_up_scope(const set_up_scope&) = delete;
  set_up_scope& operator=(const set_up_scope&) = delete;
  ~set_up_scope() { current_ = nullptr; }

  static void poll() {
    if (on()) current_->check_for_aborts();
  }
  [[nodiscard]] static bool on() noexcept { return current_ != nullptr; }

 private:
  static constinit thread_local const abort_source* current_;
};

/// True if a wait may end with an error though its peer has none.
inline bool may_give_up() noexcept { return deadline::on() || present::on() || set_up_scope::on(); }

/// True if a rank must not wait inside the MPI library: others' plans need progress, there is a deadline, or failure
/// notifications arrive elsewhere.
inline bool must_poll() noexcept { return anything_started() || deadline::on() || set_up_scope::on(); }

}  // namespace taquin::mpi
