// One clock for all processes of a node.
#pragma once

#include <cstdint>
#include <ctime>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

namespace taquin::interpose {

/// Seconds.
inline double now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  constexpr double nano = 1e-9;
  return static_cast<double>(t.tv_sec) + nano * static_cast<double>(t.tv_nsec);
}

/// The same clock read for little: as ticks of the core's counter where the system keeps its own time by it, so
/// that it is the same on all cores, never stops and never changes its rate; as nanoseconds elsewhere.
class tick_clock {
 public:
  /// Finds out which, and how long a tick is: takes a millisecond.
  void start() noexcept;
  [[nodiscard]] std::uint64_t ticks() const noexcept {
#ifdef __x86_64__
    if (counts_) return __rdtsc();
#endif
    return nanoseconds();
  }
  /// How long so many ticks are.
  [[nodiscard]] double seconds(std::uint64_t ticks) const noexcept { return static_cast<double>(ticks) * tick_; }
  /// Reads both clocks: to be called before when(), after the ticks that it converts.
  void compare() noexcept;
  /// When the counter had this value, by now(): between the last two comparisons as exact as these.
  [[nodiscard]] double when(std::uint64_t ticks) const noexcept {
    return last_.seconds - static_cast<double>(last_.ticks - ticks) * between_;
  }
  /// The same by the rate since the start: as exact as the clocks' readings between the first and the last.
  [[nodiscard]] double placed(std::uint64_t ticks) const noexcept {
    return last_.seconds - static_cast<double>(last_.ticks - ticks) * tick_;
  }

 private:
  struct reading {
    std::uint64_t ticks = 0;
    double seconds = 0;
  };
  static std::uint64_t nanoseconds() noexcept;
  [[nodiscard]] reading read() const noexcept;

  bool counts_ = false;
  double tick_ = 1e-9;     // seconds, since the start
  double between_ = 1e-9;  // the same between the last two comparisons
  reading first_;
  reading last_;
};

}  // namespace taquin::interpose
