// The owner of a call in progress. A blocking exchange, a plan, a redistribution, a migration and a sparse exchange
// each have one, and go through its stages: set up, describe, agree, choose, prepare, start, test or wait, account. The
// stage of an error determines which ranks see it (docs/guide/8-hangs.md): an invalid argument in an agreement becomes
// every rank's error; any other error makes the rank abort the call, and the others are notified.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string_view>

#include "call/agree.hpp"
#include "call/operation.hpp"
#include "exchange/validate.hpp"
#include "mpi/abort_call.hpp"
#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "mpi/progress.hpp"
#include "node/call_deadline.hpp"
#include "node/channel.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Throws usage_error for MPI_COMM_NULL, and for an intercommunicator if `what`, which does not serve one, is given.
/// Local: only this rank has the error.
void check_communicator(MPI_Comm user, const char* what = nullptr);

class call : private mpi::started {
 public:
  /// `call_word`: as in `mpi::progress_record`. Local.
  call(std::uint64_t call_word, call_timeout timeout, statistics* stats) noexcept
      : call_word_(call_word), timeout_(timeout), stats_(stats) {}

  /// Set up: finds the communicator's state, or makes it together with the other ranks, and counts the call. `counted`:
  /// the channel for blocking calls, if there is one, has counted it. Collective for the first call on the
  /// communicator; waits then have the call's timeout. On an intercommunicator nothing is made.
  void set_up(MPI_Comm user, bool counted = false);

  /// Runs `work()`, one or several consecutive stages, and returns its result. Meanwhile other ranks can read this
  /// rank's progress record; its waits have the call's timeout, and they end when another rank has aborted. An error
  /// that not all ranks have makes this rank abort the call, and the others are notified.
  template <class Work>
  auto stage(Work work) {
    return mpi::or_abort([this](const std::exception& why) { abort(why); },
                         [&] {
                           const presence here(*this);
                           return work();
                         });
  }

  /// Agree: adds to `mine` the identity of the call. Collective; in a stage.
  agreed agree(proposal mine, int tag, const agreement_path& path, std::pmr::memory_resource* memory);
  /// The same by the communicator's own method; the messages carry no data.
  agreed agree(const proposal& mine, std::pmr::memory_resource* memory);

  /// The errors that a rank has found since the agreement.
  struct findings {
    std::optional<invalid_argument> invalid =
        std::nullopt;               ///< of its arguments, or of an exception that the program's code has thrown
    std::size_t lacking = 0;        ///< bytes that it needs beyond the limit
    std::size_t usual = 0;          ///< bytes that are as good as no limit; 0: those that it needs
    std::size_t limit = unlimited;  ///< of this rank
    bool any = false;               ///< true on all ranks afterwards if it is on any
    /// Further numbers, as many on all ranks, at most `most_numbers`: afterwards the largest of all ranks.
    std::span<std::uint64_t> largest{};
  };
  static constexpr std::size_t most_numbers = 8;
  /// Bytes that each rank gives to this reduction, at most.
  static constexpr std::size_t findings_bytes = (4 + most_numbers) * sizeof(std::uint64_t);
  /// Agree once more: whether any rank has `any`. Throws on all ranks: usage_error if one of them has an invalid
  /// argument, budget_exceeded ("`what` needs at least … bytes") if one lacks memory. Collective; in a stage.
  bool agree_again(const findings& mine, std::string_view what);

  /// Throws usage_error if the last start is not complete. Local.
  void check_idle(std::string_view what) const;
  /// Start: `make()` returns the operation to be started, which must live until it is complete. `by_thread`: the
  /// progress thread progresses it.
  template <class Make>
  void start(Make make, bool by_thread) {
    count();
    stage([&] {
      operation& made = make();
      made.start();
      operation_ = &made;
      begin(by_thread);
    });
  }
  /// Test and wait: true when the operation is complete, or none was started. An error ends it as well.
  bool test();
  void wait();
  /// Must be called before the started operation is destroyed. If it is not complete this rank aborts the call, because
  /// others may wait for its part.
  void forget() noexcept;
  [[nodiscard]] bool in_progress() const noexcept { return operation_ != nullptr; }
  /// A rank has aborted a call on the communicator: nothing can be started again.
  [[nodiscard]] bool lost() const noexcept;

  /// Account: `add(s)` adds the work of the operation; `peak`: the most bytes in use at a time.
  template <class Add>
  void account(Add add, std::size_t peak) const {
    if (stats_ == nullptr) return;
    ++stats_->starts;
    add(*stats_);
    stats_->peak_memory = std::max(stats_->peak_memory, peak);
    stats_->algorithm = algorithm;
  }

  /// Counts a further call on the communicator: a start, or a run of the prepared operation. Throws if the communicator
  /// is lost.
  void count();

  /// Throws if nothing may be called on the communicator now, as count() does. Local.
  void check_may_call() const {
    if (comm_ != nullptr) mpi::check_may_call(comm_->calls());
  }

  [[nodiscard]] mpi::communicator* comm() const noexcept { return comm_.get(); }  ///< null on an intercommunicator
  [[nodiscard]] channel* node() const noexcept { return node_; }                  ///< null if ranks share no memory
  /// The same for an object that may outlive the user's communicator. The channel is freed with that communicator; then
  /// this is null.
  [[nodiscard]] channel* node_if_there() const noexcept {
    return comm_ != nullptr && comm_->calls().shown != nullptr ? node_ : nullptr;
  }
  /// The user's communicator; null if it has been freed, as above.
  [[nodiscard]] MPI_Comm user_if_there() const noexcept {
    return comm_ != nullptr && comm_->has_user() ? user_ : MPI_COMM_NULL;
  }
  /// Of the call that prepares it, or of its last start, among those on the communicator.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_plan() const noexcept { return (call_word_ & mpi::progress_record::plan) != 0; }
  [[nodiscard]] statistics* stats() const noexcept { return stats_; }

  std::string_view algorithm;  ///< once it is chosen

 private:
  // This rank is in the call.
  class presence {
   public:
    explicit presence(const call& c);

   private:
    mpi::in_call here_;
    mpi::present present_;
    std::optional<call_deadline> clock_;
  };

  bool advance() override { return operation_->test(); }
  void await() override { operation_->wait(); }
  void abort(const std::exception& why) noexcept;
  void poll_for_abort();

  std::uint64_t call_word_;
  std::uint64_t number_ = 0;
  call_timeout timeout_;
  statistics* stats_;
  MPI_Comm user_ = MPI_COMM_NULL;
  mpi::communicator::lease comm_;
  channel* node_ = nullptr;
  operation* operation_ = nullptr;  // in progress
};

/// Makes a State(mine, o, more…), which is local, and calls its begin(mine, o, lacks_memory), which synchronizes with
/// the other ranks. If this rank has no memory for the state itself, it still synchronizes, and all ranks throw.
template <class State, class Mine, class Options, class... More>
std::unique_ptr<State> begin_together(const Mine& mine, const Options& o, const More&... more) {
  std::unique_ptr<State> made(new (std::nothrow) State(mine, o, more...));
  if (made != nullptr) {
    made->begin(mine, o, false);
  } else {
    State(mine, o, more...).begin(mine, o, true);
  }
  return made;
}

}  // namespace taquin::detail
