// A rank that waits too long reports it, once. Only slow branches look at the clock: those in which a waiting rank
// yields its processor.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "mpi/progress.hpp"

namespace taquin::mpi {

/// What a waiting rank knows of what it waits for.
struct wait_note {
  std::string what;               ///< "round 2 of 3"
  std::vector<int> missing;       ///< ranks of `comm` that have not come or not answered; empty: not known
  MPI_Comm comm = MPI_COMM_NULL;  ///< null: the call's own

  void miss(int rank);
};

/// Something that ranks wait for.
class awaited {
 public:
  virtual void describe(wait_note& note) const = 0;

 protected:
  ~awaited() = default;
};

/// The call that this thread is in, where it has a timeout: from its beginning to its end.
class watch {
 public:
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

  /// To be called in a slow branch. Throws where a timeout is an error.
  static void look(const awaited* what) {
    if (current_ != nullptr) [[unlikely]]
      current_->look_at_clock(what);
  }
  [[nodiscard]] static bool on() noexcept { return current_ != nullptr; }

  /// While one lives, all ranks are known to have come, and do together what none can leave: the clock of this thread
  /// gives them at least five seconds, and begins anew then. Otherwise a rank whose time is over while the last one
  /// comes would leave others that have gone on.
  class all_are_here {
   public:
    all_are_here() noexcept;
    all_are_here(const all_are_here&) = delete;
    all_are_here& operator=(const all_are_here&) = delete;
    ~all_are_here();

   private:
    watch* watch_;
  };

  /// While one lives, this thread does not wait for the call: the clock stands, and begins anew at the end.
  class paused {
   public:
    paused() noexcept : watch_(current_) { current_ = nullptr; }
    paused(const paused&) = delete;
    paused& operator=(const paused&) = delete;
    ~paused() {
      current_ = watch_;
      if (watch_ != nullptr) [[unlikely]]
        watch_->begun_ = PMPI_Wtime();
    }

   private:
    watch* watch_;
  };

 protected:
  explicit watch(double seconds);
  ~watch() { current_ = outer_; }
  [[nodiscard]] double waited() const;

 private:
  void look_at_clock(const awaited* what);
  /// Once, when the time is over.
  virtual void expired(const awaited* what) = 0;

  static constinit thread_local watch* current_;
  watch* outer_;
  double begun_;
  double seconds_;
  double not_before_ = 0;  // when it may expire
  bool told_ = false;
};

class communicator;

/// For as long as this thread is in a call on a communicator: where another rank has left a call on it in the middle,
/// waits end with an error. Such a rank tells the others (communicator::leave).
class present {
 public:
  /// Null: as before.
  explicit present(communicator* comm) noexcept : outer_(current_) {
    if (comm != nullptr) current_ = comm;
  }
  present(const present&) = delete;
  present& operator=(const present&) = delete;
  ~present() { current_ = outer_; }

  /// To be called after a poll without success. Throws peer_aborted.
  static void look() {
    if (on()) look_for_leavers();
  }
  /// The object of this thread; null where it is in no call.
  [[nodiscard]] static communicator* current() noexcept { return on() ? current_ : nullptr; }
  [[nodiscard]] static bool on() noexcept {
#ifdef TAQUIN_SMPI  // where a look takes simulated time
    return false;
#else
    return current_ != nullptr;
#endif
  }

 private:
  static void look_for_leavers();

  static constinit thread_local communicator* current_;
  communicator* outer_;
};

/// Where a rank looks for others that have left.
class leavers {
 public:
  /// Throws peer_aborted if there are any.
  virtual void look_for_leavers() const = 0;

 protected:
  ~leavers() = default;
};

/// For as long as this thread makes, together with the other ranks, what the first call on a communicator needs: ranks
/// have nothing yet in which they could be `present`.
class meeting {
 public:
  /// Null: nobody can be heard.
  explicit meeting(const leavers* all) noexcept { current_ = all; }
  meeting(const meeting&) = delete;
  meeting& operator=(const meeting&) = delete;
  ~meeting() { current_ = nullptr; }

  static void look() {
    if (on()) current_->look_for_leavers();
  }
  [[nodiscard]] static bool on() noexcept { return current_ != nullptr; }

 private:
  static constinit thread_local const leavers* current_;
};

/// True where a wait may end with an error though nothing is wrong with what it waits for.
inline bool may_give_up() noexcept { return watch::on() || present::on() || meeting::on(); }

/// True where a rank must not wait inside the MPI library: others' plans ask for it, or a clock, or one looks elsewhere
/// for those that leave.
inline bool must_look() noexcept { return anything_started() || watch::on() || meeting::on(); }

}  // namespace taquin::mpi
