// The slots of a communicator's nonblocking exchanges, made while the MPI library does its first ones. No start waits
// for another rank; docs/internals/interposition.md describes how ranks agree.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/sizes.hpp"
#include "interpose/neighbourhood/neighbourhood_making.hpp"
#include "interpose/serve/handover.hpp"
#include "mpi/communicator.hpp"

namespace taquin::interpose {

class agreed_slots {
 public:
  /// Starts after which slots pay for their memory, if ranks remember nothing else.
  static constexpr std::uint64_t tries = 3;
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  struct demands {
    neighbourhood::neighbours edges;
    std::size_t user_bytes = 0;
    bool each_with_each = false;  ///< as in neighbourhood_making
    remembered outcomes{};        ///< that it remembers, of trials
  };

  /// Around all of them: makes the communicator of their messages, right after MPI_Init, on all ranks; and completes
  /// pending agreements, before MPI_Finalize.
  static void begin_all();
  static void end_all() noexcept;
  /// There is that communicator: the same on all ranks. Local.
  [[nodiscard]] static bool possible() noexcept;
  /// Why there is none. Local.
  [[nodiscard]] static const char* reason_without() noexcept;
  /// The ranks of `comm` are on one node, and not more than have slots: the same on all of them. Local.
  [[nodiscard]] static bool on_one_node(MPI_Comm comm);
  [[nodiscard]] static mpi::communicator& messages() noexcept;

  agreed_slots() noexcept : done_(!possible()) {}
  agreed_slots(const agreed_slots&) = delete;
  agreed_slots& operator=(const agreed_slots&) = delete;
  ~agreed_slots();

  /// Before each start on a communicator of one node: all that the start needs memory for. `demand()` gives the demands
  /// in the first one, in which ranks begin to agree. `joins_after(outcomes)` is the number of starts after which this
  /// rank maps the memory, given what all ranks remember: a matter of speed, which may differ between ranks. Local.
  /// After an error the start is not counted, and may be repeated.
  template <class Demand, class After>
  void prepare(MPI_Comm comm, Demand demand, After joins_after) {
    if (done_) return;
    if (making_ == nullptr)
      set_up(comm, demand());
    else if (making_->all_have_published() && starts_ >= joins_after(making_->outcomes()))
      making_->join();
  }
  /// The outcomes that all ranks remember, once this rank knows them; none until then. The same on all ranks where
  /// slots are made.
  [[nodiscard]] remembered outcomes() const noexcept { return making_ != nullptr ? making_->outcomes() : remembered{}; }
  [[nodiscard]] std::uint64_t starts() const noexcept { return starts_; }
  /// The slots that may do the start for which this rank is prepared. Null where the MPI library does it.
  [[nodiscard]] std::shared_ptr<neighbourhood> candidate() const noexcept {
    return made_ != nullptr || done_ || making_ == nullptr ? made_ : making_->joined_one();
  }
  /// Counts a start. True where slots do it: on all ranks the same starts. All ranks count the same starts. Waits for
  /// no rank: as long as one has not joined, the MPI library does all of them.
  [[nodiscard]] bool start(MPI_Comm comm) {
    ++starts_;
    if (making_ != nullptr && !done_) go_on(comm);
    return made_ != nullptr && starts_ > last_of_library_;
  }
  /// In a blocking call: makes them now, for all later starts. Collective.
  template <class Demand>
  void finish(MPI_Comm comm, Demand demand) {
    if (finished_ || !possible()) return;
    const auto one = [&] { set_up(comm, demand()); };
    if (making_ == nullptr && !done_ && !all_set_up(comm, std::cref(one))) return;
    finish(comm);
  }
  /// Why slots do not do the start that was last.
  [[nodiscard]] const char* reason() const noexcept;
  /// They are made, or cannot be.
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Null where they are not made.
  [[nodiscard]] const std::shared_ptr<neighbourhood>& made() const noexcept { return made_; }
  /// The area of the n-th rank in their memory for the caller; where they are made, on one node.
  [[nodiscard]] std::byte* user_area(int nth) const noexcept;
  /// The communicator is freed: unfinished slots are dropped.
  void give_up(const char* why = nullptr) noexcept;

 private:
  enum class joined : std::uint32_t { no, memory, edges, never };
  // At the beginning of each rank's user area.
  struct control {
    alignas(detail::cache_line) handover::word served;  // of the first rank: from which start on
    std::atomic<joined> stage;
  };
  [[nodiscard]] static control& control_of(const neighbourhood& n, int nth) noexcept;

  void set_up(MPI_Comm comm, demands d);
  bool all_set_up(MPI_Comm comm, const std::function<void()>& one);
  void publish(MPI_Comm comm);
  void finish(MPI_Comm comm);
  void go_on(MPI_Comm comm);
  bool know_edges(neighbourhood& n);
  void settle(const handover::decision& d) noexcept;

  bool done_;
  bool finished_ = false;
  const char* refused_ = nullptr;  // why this rank does not take part
  std::uint64_t starts_ = 0;
  std::uint64_t last_of_library_ = 0;
  int tag_ = -1;
  int rank_ = 0, ranks_ = 1;
  bool each_with_each_ = false;
  std::unique_ptr<neighbourhood_making> making_;  // until the communicator is freed
  std::shared_ptr<neighbourhood> made_;
};

}  // namespace taquin::interpose
