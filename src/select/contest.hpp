// Online autotuning: how calls find the faster of two algorithms. All ranks compute the same from agreed figures.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {

/// Two algorithms with which calls of a kind are measured: each serves a few consecutive calls, and then the faster one
/// serves all.
class contest {
 public:
  static constexpr int calls_each = 4;
  static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

  contest() = default;
  /// `second` may be null: the first then serves all.
  contest(const algorithm* first, const algorithm* second) noexcept : who_{first, second} {}

  // cppcheck-suppress CastIntegerToAddressAtReturn ; who_ holds pointers
  [[nodiscard]] const algorithm* who(std::size_t i) const noexcept { return who_[i]; }
  /// Which of the two serves the next call.
  [[nodiscard]] std::size_t next() const noexcept {
    if (who_[1] == nullptr) return 0;
    for (std::size_t i = 0; i < 2; ++i)
      if (calls_[i] < calls_each) return i;
    return least_[0] <= least_[1] ? 0 : 1;
  }
  /// A call by the i-th has lasted so many nanoseconds, on the rank that entered last; unknown: it has failed. Its
  /// first call does not count: it is entered like calls of another algorithm, and may have made communicators and
  /// memory for later ones.
  void learn(std::size_t i, std::uint64_t nanoseconds) noexcept {
    if (calls_[i] > 0) least_[i] = std::min(least_[i], nanoseconds);
    calls_[i] = std::min(calls_[i] + 1, calls_each);
  }
  /// The result of `next` will not change.
  [[nodiscard]] bool settled() const noexcept {
    return who_[1] == nullptr || (calls_[0] == calls_each && calls_[1] == calls_each);
  }

 private:
  std::array<const algorithm*, 2> who_{};
  std::array<std::uint64_t, 2> least_{unknown, unknown};
  std::array<int, 2> calls_{};
};

}  // namespace taquin::detail
