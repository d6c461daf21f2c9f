// The owner of a call under way. A blocking exchange, a plan, a redistribution, a migration and a sparse exchange are
// each made of one, and go through its stages: meet, describe, agree, choose, prepare, start, test or wait, account.
// The stage that an error comes from says what it means (docs/guide/8-hangs.md): what a rank brings to an agreement
// becomes every rank's error; any other error takes the rank out of the call, and the others are told.
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
#include "mpi/communicator.hpp"
#include "mpi/leave.hpp"
#include "mpi/progress.hpp"
#include "mpi/watch.hpp"
#include "node/call_watch.hpp"
#include "node/channel.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// Throws usage_error for MPI_COMM_NULL, and for an intercommunicator where `what` is not served on one. Local: there
/// is nobody to tell.
void check_communicator(MPI_Comm user, const char* what = nullptr);

class call : private mpi::started {
 public:
  /// `facts`: as in mpi::whereabouts. Local.
  call(std::uint64_t facts, patience timeout, statistics* stats) noexcept
      : facts_(facts), timeout_(timeout), stats_(stats) {}

  /// Meet: finds what taquin has for the communicator, or makes it together with the other ranks, and counts the call.
  /// `counted`: a channel for blocking calls, where there is one, has counted it. Collective when asked for the first
  /// time on the communicator; waits then have the call's timeout. On an intercommunicator nothing is made.
  void meet(MPI_Comm user, bool counted = false);

  /// One stage, or several that follow each other, of which this rank may not stay away: the result of `work()`. While
  /// it lasts others can find out where this rank is, its waits have the call's timeout, and they end where another
  /// rank has left. An error that is not every rank's takes this rank out of the call.
  template <class Work>
  auto stage(Work work) {
    return mpi::or_leave([this](const std::exception& why) { leave(why); },
                         [&] {
                           const presence here(*this);
                           return work();
                         });
  }

  /// Agree: `mine` is completed with what the call is known by. Collective; in a stage.
  agreed agree(proposal mine, int tag, const agreement_way& way, std::pmr::memory_resource* memory);
  /// The same by the communicator's own way, without data on board.
  agreed agree(const proposal& mine, std::pmr::memory_resource* memory);

  /// What a rank has found since the agreement.
  struct findings {
    std::optional<invalid_argument> invalid =
        std::nullopt;               ///< of its arguments, or of what the program's code has thrown
    std::size_t lacking = 0;        ///< bytes that it needs where the limit does not allow them
    std::size_t limit = unlimited;  ///< of this rank
    bool any = false;               ///< what it asks whether any rank has it
  };
  /// Agree once more: whether any rank has `any`. Throws on all ranks: usage_error where one of them has an invalid
  /// argument, budget_exceeded ("`what` needs at least … bytes") where one lacks memory. Collective; in a stage.
  bool agree_again(const findings& mine, std::string_view what);

  /// Throws usage_error where the last start is not complete. Local.
  void check_idle(std::string_view what) const;
  /// Start: `make()` gives what is to be started, which lives until it is over. `by_thread`: the progress thread looks
  ///        after
  /// it.
  template <class Make>
  void start(Make make, bool by_thread) {
    count();
    stage([&] {
      operation& body = make();
      body.start();
      body_ = &body;
      begin(by_thread);
    });
  }
  /// Test and wait: true when it is over, or nothing was started. After an error it is over as well.
  bool test();
  void wait();
  /// To be called before what was started goes. Where it is not over, this rank leaves: others may wait for its part.
  void forget() noexcept;
  [[nodiscard]] bool under_way() const noexcept { return body_ != nullptr; }
  /// A rank has left a call on the communicator: nothing can be started again.
  [[nodiscard]] bool lost() const noexcept;

  /// Account: `add(s)` tells what was done; `peak`: the most bytes in use at once.
  template <class Add>
  void account(Add add, std::size_t peak) const {
    if (stats_ == nullptr) return;
    ++stats_->starts;
    add(*stats_);
    stats_->peak_memory = std::max(stats_->peak_memory, peak);
    stats_->algorithm = algorithm;
  }

  /// Counts a further call on the communicator: a start, or a run of what was prepared. Throws where the communicator
  /// is lost.
  void count();

  [[nodiscard]] mpi::communicator* comm() const noexcept { return comm_.get(); }  ///< null on an intercommunicator
  [[nodiscard]] channel* node() const noexcept { return node_; }                  ///< null where ranks share no memory
  /// The same for what lives longer than the user's communicator, with which the channel goes: null then.
  [[nodiscard]] channel* node_if_there() const noexcept {
    return comm_ != nullptr && comm_->calls().shown != nullptr ? node_ : nullptr;
  }
  [[nodiscard]] bool is_plan() const noexcept { return (facts_ & mpi::whereabouts::plan) != 0; }
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
    std::optional<call_watch> clock_;
  };

  bool advance() override { return body_->test(); }
  void await() override { body_->wait(); }
  void leave(const std::exception& why) noexcept;

  std::uint64_t facts_;
  std::uint64_t number_ = 0;  // of the call that prepares it, or of its last start
  patience timeout_;
  statistics* stats_;
  MPI_Comm user_ = MPI_COMM_NULL;  // until the communicator's state is known
  mpi::communicator::lease comm_;
  channel* node_ = nullptr;
  operation* body_ = nullptr;  // under way
};

/// A State of its own, whose begin(mine, o, lacks_memory) meets the other ranks: they meet all the same, and all throw,
/// where this one has no memory for the state itself. State(mine, o, more…) is local.
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
