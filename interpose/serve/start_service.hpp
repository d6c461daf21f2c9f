// Nonblocking exchanges among all ranks of a communicator: by slots in the memory of one node where three calls of a
// kind are faster so than three by the MPI library.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "interpose/event.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"
#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/start_trial.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// The choice of the server of calls on one communicator. All ranks count the same calls, in the same order.
class start_service {
 public:
  /// The server of a call.
  struct turn : start_trial::turn {
    std::size_t kind = 0;
    const char* reason = nullptr;  ///< why not by slots
    trial_times lost{};
  };

  /// The communicator's; made with its first call. Null where the MPI library does all its calls, on all ranks. Local.
  static std::shared_ptr<start_service> of(MPI_Comm comm);
  /// Why there is none. Local.
  static const char* reason_without();
  /// The program frees `comm`.
  static void forget(MPI_Comm comm);
  void communicator_is_freed() noexcept;
  start_service(const start_service&) = delete;
  start_service& operator=(const start_service&) = delete;

  /// Before the next call: what it needs memory for. Local. After an error the call is not counted.
  void prepare(MPI_Comm comm, const exchange& x);
  /// The slots that may do that call, or are compared with it; null where the MPI library does it. Local.
  [[nodiscard]] std::shared_ptr<neighbourhood> candidate(const exchange& x) const noexcept;
  /// The server of that call. Waits for no rank.
  turn next(MPI_Comm comm, const exchange& x);
  /// A timed call has been completed, after so many seconds in MPI calls.
  void took(const turn& t, double seconds) noexcept;
  [[nodiscard]] const std::shared_ptr<neighbourhood>& slots() const noexcept { return slots_.made(); }
  [[nodiscard]] std::size_t ranks() const noexcept { return static_cast<std::size_t>(ranks_); }
  [[nodiscard]] outcome by_slots() const;

 private:
  static constexpr int first_kinds = 2;  // alltoallv and alltoallw; the others are alltoall by its block's size
  static constexpr int kinds = 24;

  start_service(int rank, int ranks) noexcept : rank_(rank), ranks_(ranks) {}
  static std::size_t kind_of(const exchange& x) noexcept;
  // Messages of the MPI library move such blocks either way.
  static bool is_long(const exchange& x, const neighbourhood& n) noexcept;
  static std::uint64_t joins_after(const remembered& all, std::size_t kind) noexcept;
  void adopt(std::size_t kind) noexcept;
  [[nodiscard]] trial_times last_times(std::size_t kind) const noexcept;

  int rank_, ranks_;
  agreed_slots slots_;
  std::mutex timing_;  // of the trials: other threads may complete their calls
  std::array<start_trial, kinds> trials_{};
};

}  // namespace taquin::interpose
