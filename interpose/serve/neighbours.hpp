// Exchanges among the neighbours of a communicator's topology: by taquin's slots in the memory of one node where three
// calls are faster so than three by the MPI library.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/nodes/neighbourhood.hpp"
#include "interpose/serve/served_exchange.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// The ranks that the neighbours' blocks go to, or come from, in the order of the blocks.
std::vector<int> neighbours_of(MPI_Comm comm, bool send);

/// Who does the calls on one communicator. All ranks count the same calls, in the same order.
class neighbour_service {
 public:
  enum class by : std::uint8_t { library, slots };

  /// The communicator's; made with its first call. Null where `comm` has no topology. Local.
  static std::shared_ptr<neighbour_service> of(MPI_Comm comm);

  /// Makes the slots now, where they are not there. Collective.
  void make_slots(MPI_Comm comm);
  /// Who does the next blocking call. In the fourth the slots are made, in the seventh the ranks compare their times.
  /// Collective.
  by next_blocking(MPI_Comm comm);
  /// Who does the next start. Local.
  [[nodiscard]] by next_start() const noexcept { return slots_ != nullptr && !lost_ ? by::slots : by::library; }
  /// A blocking call has taken so many seconds.
  void took(by who, double seconds) noexcept;

  /// A blocking exchange by the slots; both sides have elements.
  void exchange(const blocks& send, const blocks& recv);
  [[nodiscard]] const std::shared_ptr<detail::neighbourhood>& slots() const noexcept { return slots_; }
  [[nodiscard]] const std::vector<int>& sources() const noexcept { return sources_; }
  [[nodiscard]] const std::vector<int>& destinations() const noexcept { return destinations_; }
  [[nodiscard]] outcome by_slots() const;

 private:
  static constexpr int tries = 3;

  std::vector<int> sources_, destinations_;
  std::shared_ptr<detail::neighbourhood> slots_;
  std::optional<detail::neighbour_exchange> call_;  // of blocking calls
  std::array<double, 2> best_{};                    // by who
  int blocking_calls_ = 0;
  bool made_ = false;  // or found out that they cannot be made
  bool lost_ = false;
};

}  // namespace taquin::interpose
