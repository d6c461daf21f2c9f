// How blocking calls between nodes learn what is best, and how long they do without agreements. Pure: every rank comes to
// the same from what ranks have agreed on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {

/// Two algorithms that calls of a kind are measured with: each does a few calls in a row, and then the faster one does all.
class contest {
 public:
  static constexpr int calls_each = 4;
  static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

  contest() = default;
  /// `second` may be null: the first then does all.
  contest(const algorithm* first, const algorithm* second) noexcept : who_{first, second} {}

  [[nodiscard]] const algorithm* who(std::size_t i) const noexcept { return who_[i]; }
  /// Which of the two does the next call.
  [[nodiscard]] std::size_t next() const noexcept {
    if (who_[1] == nullptr) return 0;
    for (std::size_t i = 0; i < 2; ++i)
      if (calls_[i] < calls_each) return i;
    return time(0) <= time(1) ? 0 : 1;
  }
  /// A call by the i-th has taken so many nanoseconds, on the rank that came last; unknown: it has failed. Its first one
  /// does not count: it has begun as calls of another algorithm do, and may have made what the later ones find.
  void learn(std::size_t i, std::uint64_t nanoseconds) noexcept {
    if (calls_[i] > 0) least_[i] = std::min(least_[i], nanoseconds);
    calls_[i] = std::min(calls_[i] + 1, calls_each);
  }
  /// What `next` says will not change.
  [[nodiscard]] bool settled() const noexcept {
    return who_[1] == nullptr || (calls_[0] == calls_each && calls_[1] == calls_each);
  }

 private:
  // Direct exchanges can do without the agreement later, which these calls have paid for.
  [[nodiscard]] std::uint64_t time(std::size_t i) const noexcept {
    return least_[i] / 10 * (who_[i] == &spread_out ? 9 : 10);
  }

  std::array<const algorithm*, 2> who_{};
  std::array<std::uint64_t, 2> least_{unknown, unknown};
  std::array<int, 2> calls_{};
};

/// Calls of a form without an agreement: 1 after the first agreed call that is done directly, then 3, 7, and 15 between
/// two agreements for as long as that stays so.
class direct_calls {
 public:
  static constexpr int most = 15;

  /// Whether the next call is one of them; counts it.
  [[nodiscard]] bool skip() noexcept {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  /// Ranks have agreed on a call, which is done directly, as others of its kind will be; or it is not.
  void agreed(bool directly) noexcept {
    left_ = directly ? next_ : 0;
    next_ = directly ? std::min(2 * next_ + 1, most) : 1;
  }

 private:
  int left_ = 0;
  int next_ = 1;
};

}  // namespace taquin::detail
