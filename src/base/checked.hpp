// Arithmetic on counts and bytes that detects overflow of 64 bits.
#pragma once

#include "taquin/types.hpp"

namespace taquin::detail {

/// The most bytes that one rank's side of an exchange may have, and the farthest that a block may lie from its base.
/// No address space is larger; and sums of several such figures, as memory formulas make them, still fit 64 bits.
inline constexpr count_t most_bytes = count_t{1} << 56;

/// A number that may have exceeded the limit in between. Once it has, it stays invalid.
class checked {
 public:
  constexpr checked(count_t value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)

  friend constexpr checked operator+(checked a, checked b) noexcept {
    checked r = 0;
    r.overflowed_ = __builtin_add_overflow(a.value_, b.value_, &r.value_) || a.overflowed_ || b.overflowed_;
    return r;
  }
  friend constexpr checked operator*(checked a, checked b) noexcept {
    checked r = 0;
    r.overflowed_ = __builtin_mul_overflow(a.value_, b.value_, &r.value_) || a.overflowed_ || b.overflowed_;
    return r;
  }
  /// The value, if it fits.
  [[nodiscard]] constexpr count_t value() const noexcept { return value_; }
  /// Within ±most_bytes, and no intermediate result exceeded 64 bits.
  [[nodiscard]] constexpr bool fits() const noexcept {
    return !overflowed_ && value_ <= most_bytes && value_ >= -most_bytes;
  }

 private:
  count_t value_;
  bool overflowed_ = false;
};

}  // namespace taquin::detail
