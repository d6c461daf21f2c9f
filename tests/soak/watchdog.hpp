// Says where a rank is when it has been at one problem for too long, and ends the program.
#pragma once

#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "soak/program.hpp"
#include "soak/random.hpp"

namespace taquin::soak {

/// Prints where the thread is that has this signal; all in one piece, since ranks print at the same time.
inline void print_trace(int /*signal*/) {
  std::array<void*, 64> frames{};
  std::array<char, 4000> text{};
  const int file = memfd_create("trace", 0);
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), static_cast<int>(frames.size())), file);
  const ssize_t bytes = pread(file, text.data(), text.size(), 0);
  if (bytes > 0) static_cast<void>(!write(STDERR_FILENO, text.data(), static_cast<std::size_t>(bytes)));
  close(file);
}

/// Of the threads of a rank, until `ended`. `timeout` in seconds; `seed` is that of the first thread's problems.
inline void watch_over(const std::deque<progress>& all, double timeout, std::uint64_t seed, int rank,
                       const std::atomic<bool>& ended) {
  using clock = std::chrono::steady_clock;
  struct seen {
    std::uint64_t problem = 0;
    clock::time_point since = clock::now();
  };
  std::vector<seen> last(all.size());
  signal(SIGUSR2, print_trace);
  while (!ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    bool hangs = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t now = all[i].problem;
      if (now != last[i].problem || all[i].ended) last[i] = {now, clock::now()};
      if (clock::now() - last[i].since < std::chrono::duration<double>(timeout)) continue;
      hangs = true;
      fmt::print(stderr, "soak: hang: rank {}, thread {}: problem --seed {} --first {} --problems 1: {}\n", rank, i,
                 i == 0 ? seed : hash(seed, i), now, all[i].doing.load());
    }
    if (!hangs) continue;
    syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2);      // the first thread
    std::this_thread::sleep_for(std::chrono::seconds(3));  // for the other ranks to say the same
    _exit(2);
  }
}

}  // namespace taquin::soak
