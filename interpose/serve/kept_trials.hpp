// Outcomes of trials that a rank keeps for later communicators of as many ranks. Ranks may have been in different
// communicators, so an outcome is only used where the ranks of a communicator agree that all of them remember it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "interpose/event.hpp"
#include "interpose/neighbourhood/remembered.hpp"

namespace taquin::interpose {

/// Those of one form of calls, by the number of ranks and the kind of call.
class kept_trials {
 public:
  enum class form : std::uint8_t { starts, neighbours, neighbours_by_steps };
  /// Never destroyed: communicators may be freed while the program ends. Allocates nothing.
  [[nodiscard]] static kept_trials& of(form f) noexcept;
  static constexpr std::size_t kinds = 32;
  /// Calls of a communicator for which it pays to set it up with the first of them.
  static constexpr std::uint64_t many = 16;

  /// Outcomes of communicators of as many ranks, for the next one. So many get an outcome, then one repeats the trial:
  /// it may have been disturbed.
  static constexpr int uses = 16;
  [[nodiscard]] remembered recall(int ranks) noexcept;
  /// Whether a communicator of as many ranks is used so long that its set-up should come early.
  [[nodiscard]] bool early(int ranks) const noexcept;
  /// The times of the trial whose outcome is kept.
  [[nodiscard]] trial_times times(int ranks, std::size_t kind) const noexcept;
  /// A trial has ended. Where there is no memory its outcome is not kept.
  void keep(int ranks, std::size_t kind, bool taquin_won, const trial_times& times) noexcept;
  /// A communicator has had so many calls, or was freed after them.
  void used(int ranks, std::uint64_t calls) noexcept;

 private:
  struct kept {
    remembered outcomes;
    std::array<trial_times, kinds> times{};
    std::array<std::uint8_t, kinds> used{};
  };
  mutable std::mutex mutex_;
  std::map<int, kept> by_ranks_;
};

}  // namespace taquin::interpose
