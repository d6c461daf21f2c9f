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
  };

  /// Around all of them: makes the communicator of their messages, right after MPI_Init, on all ranks; and completes
  /// what ranks are agreeing on, before MPI_Finalize.
  static void begin_all();
  static void end_all() noexcept;
  /// There is that communicator: the same on all ranks. Local.
  [[nodiscard]] static bool possible() noexcept;
  [[nodiscard]] static mpi::communicator& messages() noexcept;

  /// For the ranks of `comm`. Local.
  agreed_slots(MPI_Comm comm, demands d);
  agreed_slots(const agreed_slots&) = delete;
  agreed_slots& operator=(const agreed_slots&) = delete;
  ~agreed_slots();

  /// To be called in each start until they are over. `wanted`: this rank takes part. All ranks count the same starts.
  /// Waits only where this rank has started `ahead` calls more than another one has.
  void start(MPI_Comm comm, bool wanted = true);
  /// In a blocking call: makes them now. Collective.
  void finish(MPI_Comm comm);
  /// They are made, or cannot be.
  [[nodiscard]] bool over() const noexcept { return making_.over() || !possible(); }
  /// Null where they are not made.
  [[nodiscard]] const std::shared_ptr<detail::neighbourhood>& made() const noexcept { return making_.made(); }
  [[nodiscard]] int tag() const noexcept { return tag_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return making_.places().size(); }
  [[nodiscard]] const detail::neighbourhood::neighbours& edges() const noexcept { return making_.edges(); }
  /// The communicator is freed: what is not made will not be.
  void give_up() noexcept { making_.give_up(); }

 private:
  void begin(MPI_Comm comm, bool wanted);

  int rank_;
  detail::neighbourhood_making making_;
  int starts_ = 0;
  int tag_ = -1;
};

}  // namespace taquin::interpose
