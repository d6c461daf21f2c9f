// Calls of a recording that were in flight together, run so again.
#pragma once

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <vector>

#include "harness/problem.hpp"

namespace taquin::harness {

/// A range of calls that are timed together: one, or several of which each later one began while earlier ones were in
/// flight.
struct section {
  std::size_t first = 0;
  std::size_t end = 0;
  bool overlaps = false;
};

std::vector<section> sections_of(const std::vector<problem>& calls);

/// The memory of a recording's calls: one for all those that run alone, and others for each that is in flight with
/// others, one more than the calls that are in flight when it begins, or one for each repetition in place.
class arenas {
 public:
  arenas(std::pmr::memory_resource* from, const std::vector<problem>& calls);

  /// How many of the call's repetitions may be in flight together, and their memory.
  [[nodiscard]] std::size_t slots(std::size_t call) const noexcept {
    return own_[call].empty() ? 1 : own_[call].size();
  }
  [[nodiscard]] arena& at(std::size_t call, std::size_t slot) {
    return own_[call].empty() ? shared_ : own_[call][slot];
  }

 private:
  arena shared_;
  std::vector<std::vector<arena>> own_;  // by call; empty where it runs alone
};

/// Runs the section once: before each call the oldest are completed until no more are in flight than were when it was
/// recorded. `slots[i]` are the operations of call i, one for each of its memories. A call that throws is over.
void execute(const std::vector<problem>& calls, const section& s, const std::vector<std::vector<operation>>& slots);

}  // namespace taquin::harness
