// Exchanges among the neighbours of a communicator's topology. On one node slots in its memory do them. Between nodes
// blocking calls go by steps of all ranks; starts by slots inside nodes and by messages between them. What is faster in
// three calls does the others; only the starts on one node are not compared.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "algorithms/nodes/begun_collective.hpp"
#include "algorithms/nodes/neighbour_step.hpp"
#include "algorithms/nodes/neighbourhood.hpp"
#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/served_exchange.hpp"
#include "interpose/serve/start_contest.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// The ranks that the neighbours' blocks go to, or come from, in the order of the blocks.
std::vector<int> neighbours_of(MPI_Comm comm, bool send);

/// Who does the calls on one communicator. All ranks count the same calls, in the same order.
class neighbour_service {
 public:
  enum class by : std::uint8_t { library, taquin };

  /// The communicator's; made with its first call. Null where `comm` has no topology. Local.
  static std::shared_ptr<neighbour_service> of(MPI_Comm comm);

  /// The program frees `comm`.
  static void forget(MPI_Comm comm);

  explicit neighbour_service(MPI_Comm comm);
  neighbour_service(const neighbour_service&) = delete;
  neighbour_service& operator=(const neighbour_service&) = delete;
  ~neighbour_service();
  /// Who does the next blocking call. In the fourth slots or steps are made, in the seventh the ranks compare their
  /// times. Collective.
  by next_blocking();
  /// Makes the slots now. Collective.
  void make_slots();
  /// Who does the next start of a nonblocking or persistent call. Slots are made after the first ones. Waits as
  /// agreed_slots::start() does.
  [[nodiscard]] start_contest::turn next_start();
  /// A timed start has been completed, after so many seconds in MPI calls.
  void start_took(const start_contest::turn& t, double seconds) noexcept { contest_.took(t, seconds); }
  /// The MPI library does all starts from now on.
  [[nodiscard]] bool has_no_slots() const noexcept { return slots_.over() && slots_.made() == nullptr; }
  /// Its communicator is freed; persistent calls may still be started.
  void communicator_is_freed() noexcept;
  /// Completes what ranks are telling each other, before MPI_Finalize.
  static void end_all() noexcept;
  /// A blocking call has taken so many seconds.
  void took(by who, double seconds) noexcept;

  /// A blocking exchange by slots or steps; both sides have elements.
  void exchange(const blocks& send, const blocks& recv);
  [[nodiscard]] const std::shared_ptr<detail::neighbourhood>& slots() const noexcept { return slots_.made(); }
  [[nodiscard]] const std::vector<int>& sources() const noexcept { return edges_.sources; }
  [[nodiscard]] const std::vector<int>& destinations() const noexcept { return edges_.destinations; }
  [[nodiscard]] outcome by_taquin() const;
  [[nodiscard]] outcome by_slots() const;

 private:
  static constexpr int tries = 3;
  static constexpr int least_pause = 16;
  static constexpr int most_pause = 256;

  // What the ranks tell each other of their times: read and written by the MPI library.
  struct told_times {
    std::array<double, 2> mine{}, slowest{};
    detail::begun_collective reduction;
  };
  struct services {
    std::mutex mutex;
    std::vector<neighbour_service*> alive;
  };
  static services& all_services() noexcept;
  [[nodiscard]] std::unique_ptr<told_times> take_told() noexcept;

  [[nodiscard]] bool on_one_node();
  // Slots, or steps; false on all ranks where there are neither. Collective.
  bool make();
  void tell(const start_contest::times& mine);
  [[nodiscard]] start_contest::times slowest();
  by next_of_winner() noexcept;

  MPI_Comm comm_;
  detail::neighbourhood::neighbours edges_;
  agreed_slots slots_;
  std::optional<bool> on_one_node_;  // once it is known
  start_contest contest_;            // between nodes
  std::unique_ptr<told_times> told_;
  std::uint64_t starts_ = 0;
  std::optional<detail::neighbour_exchange> call_;  // of blocking calls
  std::unique_ptr<detail::neighbour_step> step_;    // of those between nodes
  std::array<double, 2> best_{};                    // by who
  int blocking_calls_ = 0;
  int pause_ = 0;  // calls that the MPI library does, because steps had messages
  int next_pause_ = least_pause;
  bool stepped_ = false;  // the last call, or the last before a pause
  bool step_made_ = false;
  bool lost_ = false;
};

}  // namespace taquin::interpose
