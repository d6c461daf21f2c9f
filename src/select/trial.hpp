// Several ways to do calls of a kind, timed in turn: the rule by which every trial of taquin goes. Which call a way
// serves, and how ranks learn each other's times, is its user's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/sizes.hpp"

namespace taquin::detail {

/// The times of one rank, and the choice: the way whose best call, on its slowest rank, is the shortest. The first call
/// fills caches for the others, and other programs only slow down: the best time of a way is the true one.
class trial {
 public:
  static constexpr std::size_t most = 6;  ///< ways
  static constexpr double never = std::numeric_limits<double>::infinity();
  enum class order : std::uint8_t { in_turn, one_after_the_other };

  trial() = default;
  constexpr trial(std::size_t candidates, int calls_each, order o) noexcept
      : candidates_(candidates), each_(static_cast<std::uint64_t>(calls_each)), order_(o) {
    best_.fill(never);
  }

  /// Calls that are timed; later ones are not.
  [[nodiscard]] constexpr std::uint64_t calls() const noexcept { return candidates_ * each_; }
  /// The way of such a call.
  [[nodiscard]] constexpr std::size_t candidate(std::uint64_t call) const noexcept {
    return static_cast<std::size_t>(order_ == order::in_turn ? call % candidates_ : call / each_);
  }
  constexpr void took(std::size_t of, double seconds) noexcept { best_[of] = std::min(best_[of], seconds); }

  /// By way: this rank's, and after decide() those of the slowest ranks.
  [[nodiscard]] std::span<double> best() noexcept { return std::span(best_).first(candidates_); }
  [[nodiscard]] std::span<const double> best() const noexcept { return std::span(best_).first(candidates_); }

  /// The fastest by the times of all ranks, those of a rank one after the other. Of equal ones the first.
  std::size_t decide(std::span<const double> of_ranks) noexcept {
    best_.fill(0);
    for (std::size_t i = 0; i < of_ranks.size(); ++i)
      best_[i % candidates_] = std::max(best_[i % candidates_], of_ranks[i]);
    return fastest();
  }
  /// The same by best(), which is that of the slowest ranks already.
  [[nodiscard]] std::size_t fastest() const noexcept {
    return as_size(std::ranges::min_element(best()) - best().begin());
  }

 private:
  std::array<double, most> best_{};
  std::size_t candidates_ = 1;
  std::uint64_t each_ = 1;
  order order_ = order::in_turn;
};

}  // namespace taquin::detail
