// Says where a rank is when it has been at one problem for too long, and ends the program.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "soak/program.hpp"
#include "soak/random.hpp"

namespace taquin::soak {

/// Of the threads of a rank, until `ended`. `timeout` in seconds; `seed` is that of the first thread's problems.
inline void watch_over(const std::deque<progress>& all, double timeout, std::uint64_t seed, int rank,
                       const std::atomic<bool>& ended) {
  using clock = std::chrono::steady_clock;
  struct seen {
    std::uint64_t problem = 0;
    clock::time_point since = clock::now();
  };
  std::vector<seen> last(all.size());
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
    std::this_thread::sleep_for(std::chrono::seconds(3));  // for the other ranks to say the same
    _exit(2);
  }
}

}  // namespace taquin::soak
