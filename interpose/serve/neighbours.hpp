// Exchanges among the neighbours of a communicator's topology. On one node slots in its memory do them. Between nodes
// steps of all ranks do blocking calls where three of them are faster than three by the MPI library, which does the
// starts: its ranks cannot agree on anything else without waiting.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "interpose/neighbourhood/neighbour_step.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"
#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/growing_pause.hpp"
#include "interpose/serve/kept_trials.hpp"
#include "interpose/serve/served_exchange.hpp"
#include "select/trial.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// The ranks to which the neighbours' blocks go, or that they are from, in the order of the blocks.
std::vector<int> neighbours_of(MPI_Comm comm, bool send);

/// The choice of the server of calls on one communicator. All ranks count the same calls, in the same order.
class neighbour_service {
 public:
  enum class by : std::uint8_t { library, taquin };

  /// The communicator's; made with its first call. Null where `comm` has no topology. Local.
  static std::shared_ptr<neighbour_service> of(MPI_Comm comm);
  /// The same in a call in which ranks may wait: null on all ranks where one has no memory for it. Collective where
  /// it is not made yet.
  static std::shared_ptr<neighbour_service> of_all(MPI_Comm comm);

  /// The program frees `comm`.
  static void forget(MPI_Comm comm);

  explicit neighbour_service(MPI_Comm comm);
  neighbour_service(const neighbour_service&) = delete;
  neighbour_service& operator=(const neighbour_service&) = delete;
  /// The server of the next blocking call. In the first the ranks agree on what all of them remember. Without an
  /// outcome slots or steps are made in the fourth, and the ranks compare their times in the seventh. Collective.
  by next_blocking(const taquin::exchange& x);
  /// Makes the slots now. Collective.
  void make_slots();
  /// Before the next start of a nonblocking or persistent call: what it needs memory for. Local. After an error the
  /// start is not counted.
  void prepare_start();
  /// The slots that may do the start for which this rank is prepared; null where the MPI library does it. Local.
  [[nodiscard]] std::shared_ptr<neighbourhood> candidate() const noexcept;
  /// The server of that start. Slots are made after the first ones. Waits for no rank.
  [[nodiscard]] by next_start();
  /// Its communicator is freed; persistent calls may still be started.
  void communicator_is_freed() noexcept;
  /// A blocking call has taken so many seconds.
  void took(by who, double seconds) noexcept;

  /// A blocking exchange by slots or steps.
  void exchange(const blocks& send, const blocks& recv);
  [[nodiscard]] const std::shared_ptr<neighbourhood>& slots() const noexcept { return slots_.made(); }
  [[nodiscard]] const std::vector<int>& sources() const noexcept { return edges_.sources; }
  [[nodiscard]] const std::vector<int>& destinations() const noexcept { return edges_.destinations; }
  [[nodiscard]] outcome by_taquin() const;
  [[nodiscard]] outcome by_slots() const;
  /// Of a blocking call, or a start, that was left to the MPI library.
  [[nodiscard]] outcome blocking_by_library() const;
  [[nodiscard]] outcome start_by_library() const;

 private:
  static constexpr int tries = 3;

  [[nodiscard]] agreed_slots::demands demands() const;
  [[nodiscard]] kept_trials& kept() const noexcept;
  void count_call() noexcept;
  void recall(const taquin::exchange& x);
  [[nodiscard]] trial_times times() const noexcept;
  by without_means() noexcept;
  // Slots, or steps; false on all ranks where there are neither. Collective.
  bool make();
  bool make_step();
  by next_of_winner() noexcept;

  MPI_Comm comm_;
  int ranks_ = 1;
  neighbourhood::neighbours edges_;
  agreed_slots slots_;
  bool on_one_node_;
  std::optional<neighbour_exchange> call_;                                    // of blocking calls
  std::vector<element> to_send_, to_receive_;                                 // of one of them
  std::unique_ptr<neighbour_step> step_;                                      // of those between nodes
  detail::trial times_{2, tries, detail::trial::order::one_after_the_other};  // of blocking calls, by who
  std::uint64_t blocking_calls_ = 0;                                          // until the trial is decided
  std::uint64_t calls_ = 0;                                                   // of all forms
  std::uint64_t library_calls_ = tries;                                       // blocking ones before means are made
  std::size_t size_ = 0;                                                      // class of the first blocking call
  bool won_before_ = false;                                                   // as all ranks remember
  int pause_ = 0;  // calls that the MPI library does, because steps had messages
  growing_pause pauses_;
  bool stepped_ = false;  // the last call, or the last before a pause
  bool made_ = false;     // or tried
  bool lost_ = false;
  const char* no_means_ = nullptr;  // why neither slots nor steps are made
};

}  // namespace taquin::interpose
