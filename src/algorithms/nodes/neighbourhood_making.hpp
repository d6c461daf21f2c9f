// How the ranks of a communicator make the memory of their slots without waiting for each other: what they agree on is
// begun in one stage, and used in the next, which each rank enters when it likes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/nodes/neighbourhood.hpp"
#include "mpi/communicator.hpp"
#include "node/mapping.hpp"

namespace taquin::detail {

class neighbourhood_making {
 public:
  /// Of the rank `rank` of a communicator; `places` are its ranks in the communicator of messages. `notes` as in
  /// neighbourhood::member. `each_with_each`: each rank is a neighbour of each, itself included. Local.
  neighbourhood_making(int rank, std::vector<int> places, neighbourhood::neighbours edges, std::size_t notes,
                       bool each_with_each)
      : rank_(rank),
        places_(std::move(places)),
        edges_(std::move(edges)),
        notes_(notes),
        each_with_each_(each_with_each) {}
  neighbourhood_making(const neighbourhood_making&) = delete;
  neighbourhood_making& operator=(const neighbourhood_making&) = delete;
  ~neighbourhood_making() { give_up(); }

  /// The first stage. A negative tag: this rank cannot take part, and nothing is made. All ranks call it, and later
  /// go_on(), at the same place in the order of their collectives on `comm`. Does not wait.
  void begin(MPI_Comm comm, mpi::communicator::lease messages, int tag);
  /// The next one, in the start of a call on `comm` of this number. Waits until all ranks have begun the one before;
  /// the wait has the timeout of calls.
  void go_on(MPI_Comm comm, std::uint64_t number);
  [[nodiscard]] bool over() const noexcept { return stage_ == stage::over; }
  /// Null before the end, and where ranks are on several machines, share no memory, or one of them cannot take part.
  [[nodiscard]] const std::shared_ptr<neighbourhood>& made() const noexcept { return made_; }
  /// What this rank has of the memory, at most.
  [[nodiscard]] std::size_t most_bytes() const noexcept {
    return neighbourhood::most_bytes(static_cast<int>(places_.size()), notes_);
  }
  /// Completes what is under way. Nothing is made.
  void give_up() noexcept;
  /// A wait had an error: the MPI library still reads and writes this object, which must stay.
  [[nodiscard]] bool must_stay() const noexcept { return must_stay_; }

 private:
  enum class stage : std::uint8_t { first, asking, attaching, comparing, over };

  void attach(MPI_Comm comm);
  void compare(MPI_Comm comm);
  void agree(MPI_Comm comm, bool good);
  void settle(MPI_Comm comm, std::uint64_t number);
  void end() noexcept;

  int rank_;
  std::vector<int> places_;
  neighbourhood::neighbours edges_;
  std::size_t notes_;
  bool each_with_each_;
  stage stage_ = stage::first;
  bool must_stay_ = false;
  mpi::communicator::lease messages_;
  int tag_ = -1;
  std::array<std::int64_t, 4> asked_{}, answer_{};
  std::int32_t good_ = 0, all_good_ = 0;
  mapping_key key_{};   // rank 0's own
  mapping_key from_{};  // as rank 0 has sent it
  mapping memory_;
  std::array<MPI_Request, 2> pending_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::shared_ptr<neighbourhood> making_, made_;
};

}  // namespace taquin::detail
