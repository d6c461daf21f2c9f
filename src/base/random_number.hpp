// Unique numbers: from the kernel, in a microsecond. std::random_device executes cpuid first, which takes 20
// microseconds where that is emulated.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace taquin::detail {

inline std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return (static_cast<std::uint64_t>(getpid()) << 32U) ^ static_cast<std::uint64_t>(now);
}

}  // namespace taquin::detail
