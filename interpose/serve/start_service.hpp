// Nonblocking exchanges among all ranks of a communicator: by slots in the memory of one node where three calls of a
// kind are faster so than three by the MPI library.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "algorithms/nodes/neighbourhood.hpp"
#include "interpose/event.hpp"
#include "interpose/serve/agreed_slots.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Who does the calls on one communicator. All ranks count the same calls, in the same order.
class start_service {
 public:
  static constexpr int tries = agreed_slots::tries;
  static constexpr int ahead = agreed_slots::ahead;
  static constexpr int again = 512;  ///< calls after which a kind whose blocks may have changed is measured again

  /// Who does a call.
  struct turn {
    bool by_slots = false;
    bool timed = false;
    std::size_t kind = 0;
    std::uint32_t of = 0;  ///< the kind's contest
  };

  /// The communicator's; made with its first call. Null where the MPI library does all its calls, on all ranks. Local.
  static std::shared_ptr<start_service> of(MPI_Comm comm);
  /// The program frees `comm`.
  static void forget(MPI_Comm comm);
  void communicator_is_freed() noexcept { slots_.give_up(); }
  start_service(const start_service&) = delete;
  start_service& operator=(const start_service&) = delete;

  /// Of the next call. Waits only where this rank has started `ahead` calls more than another one has.
  turn next(MPI_Comm comm, const exchange& x);
  /// A timed call has been completed, after so many seconds in MPI calls.
  void took(const turn& t, double seconds) noexcept;
  [[nodiscard]] const std::shared_ptr<detail::neighbourhood>& slots() const noexcept { return slots_.made(); }
  [[nodiscard]] std::size_t ranks() const noexcept { return static_cast<std::size_t>(ranks_); }
  [[nodiscard]] outcome by_slots() const;

 private:
  static constexpr int first_kinds = 2;  // alltoallv and alltoallw; the others are alltoall by its block's size
  static constexpr int kinds = 24;

  // What a rank tells the others of its times, in memory that they share. Those of the contest before stay: a rank
  // that tells the next but one has decided the next, for which all ranks had read them.
  struct told {
    struct times {
      std::atomic<std::uint32_t> of;  // the contest, from 1 on
      double library;
      double slots;
    };
    std::array<times, 2> last;
  };
  struct contest {
    std::uint32_t number = 1;
    int starts = 0;  // since the last one was decided
    double library = std::numeric_limits<double>::max();
    double slots = std::numeric_limits<double>::max();
    bool decided = false;
    bool won = true;  // the last one, by the slots
  };

  start_service(int rank, int ranks) noexcept : rank_(rank), ranks_(ranks) {}
  static std::size_t kind_of(const exchange& x) noexcept;
  [[nodiscard]] told::times& note(int rank, std::size_t kind) const noexcept;
  void tell(std::size_t kind) noexcept;
  void decide(std::size_t kind);

  int rank_, ranks_;
  agreed_slots slots_;
  std::array<contest, kinds> contests_{};
};

}  // namespace taquin::interpose
