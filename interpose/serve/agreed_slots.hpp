// The slots of a communicator's nonblocking exchanges, made while the MPI library does its first ones.
// docs/internals/interpose.md says how ranks agree without waiting.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "algorithms/nodes/neighbourhood_making.hpp"
#include "mpi/communicator.hpp"

namespace taquin::interpose {

class agreed_slots {
 public:
  /// Starts that the MPI library does before ranks begin to agree.
  static constexpr int tries = 3;
  /// Whatever ranks agree on is begun in one start and used so many starts later.
  static constexpr int ahead = 16;
  struct demands {
    detail::neighbourhood::neighbours edges;
    std::size_t notes = 0;
    bool each_with_each = false;  ///< as in neighbourhood_making
    bool wanted = true;           ///< this rank takes part
  };

  /// Around all of them: makes the communicator of their messages, right after MPI_Init, on all ranks; and completes
  /// what ranks are agreeing on, before MPI_Finalize.
  static void begin_all();
  static void end_all() noexcept;
  /// There is that communicator: the same on all ranks. Local.
  [[nodiscard]] static bool possible() noexcept;
  /// The ranks of `comm` are on one node, and not more than have slots: the same on all of them. Local.
  [[nodiscard]] static bool on_one_node(MPI_Comm comm);
  [[nodiscard]] static mpi::communicator& messages() noexcept;

  agreed_slots() noexcept : over_(!possible()) {}
  agreed_slots(const agreed_slots&) = delete;
  agreed_slots& operator=(const agreed_slots&) = delete;
  ~agreed_slots();

  /// To be called in each start on the communicator until they are over. `ask()` gives the demands when ranks begin to
  /// agree. All ranks count the same starts. Waits only where this rank has started `ahead` calls more than another one
  /// has.
  template <class Ask>
  void start(MPI_Comm comm, Ask ask) {
    if (over_ || ++starts_ <= tries) return;
    if (making_ == nullptr) return begin(comm, ask());
    if ((starts_ - tries - 1) % ahead == 0) go_on(comm);
  }
  /// In a blocking call: makes them now. Collective.
  template <class Ask>
  void finish(MPI_Comm comm, Ask ask) {
    if (!over_ && making_ == nullptr) begin(comm, ask());
    while (!over_) go_on(comm);
  }
  /// They are made, or cannot be.
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// Null where they are not made.
  [[nodiscard]] const std::shared_ptr<detail::neighbourhood>& made() const noexcept { return made_; }
  [[nodiscard]] int tag() const noexcept { return tag_; }
  /// The communicator is freed: what is not made will not be.
  void give_up() noexcept;

 private:
  void begin(MPI_Comm comm, demands d);
  void go_on(MPI_Comm comm);

  bool over_;
  int starts_ = 0;
  int tag_ = -1;
  std::unique_ptr<detail::neighbourhood_making> making_;  // while ranks agree
  std::shared_ptr<detail::neighbourhood> made_;
};

}  // namespace taquin::interpose
