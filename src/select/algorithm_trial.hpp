// Online autotuning: how calls find the faster of two algorithms. All ranks compute the same from agreed figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "algorithms/algorithm.hpp"
#include "select/trial.hpp"

namespace taquin::detail {

/// Two algorithms with which calls of a kind are measured: each serves a few consecutive calls, and then the faster one
/// serves all.
class algorithm_trial {
 public:
  static constexpr int calls_each = 4;
  static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

  algorithm_trial() = default;
  /// `second` may be null: the first then serves all.
  algorithm_trial(const algorithm* first, const algorithm* second) noexcept : who_{first, second} {}

  // cppcheck-suppress CastIntegerToAddressAtReturn ; who_ holds pointers
  [[nodiscard]] const algorithm* who(std::size_t i) const noexcept { return who_[i]; }
  /// Which of the two serves the next call.
  [[nodiscard]] std::size_t next() const noexcept { return settled() ? times_.fastest() : times_.candidate(calls_); }
  /// A call by the i-th has lasted so many nanoseconds, on the rank that entered last; unknown: it has failed. Its
  /// first call does not count: it is entered like calls of another algorithm, and may have made communicators and
  /// memory for later ones.
  void learn(std::size_t i, std::uint64_t nanoseconds) noexcept {
    if (settled()) return;
    if (calls_++ % calls_each > 0 && nanoseconds != unknown) times_.took(i, static_cast<double>(nanoseconds) * 1e-9);
  }
  /// The result of `next` will not change.
  [[nodiscard]] bool settled() const noexcept { return who_[1] == nullptr || calls_ == times_.calls(); }

 private:
  std::array<const algorithm*, 2> who_{};
  trial times_{2, calls_each, trial::order::one_after_the_other};
  std::uint64_t calls_ = 0;
};

}  // namespace taquin::detail
