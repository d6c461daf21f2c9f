#include "interpose/clock.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <fstream>
#include <string>

namespace taquin::interpose {

namespace {

// The core reports a counter of constant rate that never stops; the system, which compares the cores' counters, keeps
// its time by it.
bool counter_is_a_clock() {
#ifdef __x86_64__
  constexpr unsigned leaf = 0x80000007;
  constexpr unsigned invariant = 1U << 8U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(leaf, &a, &b, &c, &d) == 0 || (d & invariant) == 0) return false;
  std::ifstream in("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return in >> name && name == "tsc";
#else
  return false;
#endif
}

}  // namespace

std::uint64_t tick_clock::nanoseconds() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  constexpr std::uint64_t giga = 1'000'000'000;
  return static_cast<std::uint64_t>(t.tv_sec) * giga + static_cast<std::uint64_t>(t.tv_nsec);
}

// The quickest of some readings: no interruption came between its two clocks.
tick_clock::reading tick_clock::read() const noexcept {
  constexpr int tries = 5;
  reading best;
  std::uint64_t quickest = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = ticks();
    const double seconds = now();
    const std::uint64_t took = ticks() - before;
    if (took >= quickest) continue;
    quickest = took;
    best = {before + took / 2, seconds};
  }
  return best;
}

void tick_clock::start() noexcept {
  try {
    counts_ = counter_is_a_clock();
  } catch (...) {
    counts_ = false;
  }
  first_ = last_ = read();
  if (!counts_) return;
  constexpr double long_enough = 1e-3;
  while (now() - first_.seconds < long_enough) {
  }
  compare();
}

void tick_clock::compare() noexcept {
  const reading before = last_;
  last_ = read();
  if (!counts_) return;
  constexpr double long_enough = 1e-3;
  const auto rate = [&](const reading& from) {
    return (last_.seconds - from.seconds) / static_cast<double>(last_.ticks - from.ticks);
  };
  if (last_.seconds - first_.seconds >= long_enough) tick_ = rate(first_);
  between_ = last_.seconds - before.seconds >= long_enough ? rate(before) : tick_;
}

}  // namespace taquin::interpose
