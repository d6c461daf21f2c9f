// Integer types that the whole library shares.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "taquin/language.hpp"
#include "taquin/version.h"

namespace taquin {

/// Elements, bytes or displacements. Always 64 bits, whatever the MPI library's counts are.
using count_t = std::int64_t;

/// The value of `options::memory` that sets no limit.
inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// A time to wait: a number of seconds, or any duration of std::chrono.
class time_limit {
 public:
  /// 0 seconds.
  constexpr time_limit() noexcept = default;
  /// A number of seconds.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr time_limit(Number seconds) noexcept : seconds_(static_cast<float>(seconds)) {}
  /// A duration: std::chrono::milliseconds(1500).
  template <class Number, class Period>
  constexpr time_limit(std::chrono::duration<Number, Period> d) noexcept
      : seconds_(std::chrono::duration_cast<std::chrono::duration<float>>(d).count()) {}
  /// Seconds.
  constexpr operator float() const noexcept { return seconds_; }

 private:
  float seconds_ = 0;
};

}  // namespace taquin
