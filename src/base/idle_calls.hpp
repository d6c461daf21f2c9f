// Calls in which no rank has data for another.
#pragma once

#include <algorithm>
#include <cstdint>

namespace taquin::detail {

/// What a communicator remembers of its last calls. When all ranks know that nothing moves in five calls of a kind in a
/// row, the next calls of this kind go to the MPI library, up to a certain call on the communicator. There the ranks
/// agree again: they learn of an error on one rank, and of data that move again.
struct idle_calls {
  std::uint32_t choices = 0;  ///< what was alike on all ranks
  std::uint32_t period = 0;   ///< calls until ranks meet again; 0: the last call moved data
  std::uint64_t until = 0;    ///< the last of these calls

  /// The communicator's call of this number and kind goes to the MPI library.
  [[nodiscard]] bool covers(std::uint64_t number, std::uint32_t kind) const noexcept {
    return number <= until && kind == choices;
  }
  /// After the communicator's call of this number, in which ranks met: whether it was idle, which all ranks know alike.
  void note(std::uint32_t kind, bool idle, std::uint64_t number) noexcept {
    if (!idle) {
      period = 0;
      return;
    }
    period = std::min(std::max(2 * period, 1U), most);
    if (period < first) return;
    choices = kind;
    until = number + period;
  }

 private:
  static constexpr std::uint32_t first = 16;  // calls without a meeting; then 32, …
  static constexpr std::uint32_t most = 1024;
};

}  // namespace taquin::detail
