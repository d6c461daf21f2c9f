// Starts of one kind by the MPI library and by slots, timed in turn; the faster way does those that follow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "interpose/serve/agreed_slots.hpp"

namespace taquin::interpose {

class start_contest {
 public:
  static constexpr int tries = agreed_slots::tries;
  static constexpr int ahead = agreed_slots::ahead;
  static constexpr int again = 512;  ///< starts after which blocks that may have changed are measured again

  /// Who does a start.
  struct turn {
    bool by_slots = false;
    bool timed = false;
    std::uint32_t of = 0;  ///< the contest
  };
  /// The least seconds of a start.
  struct times {
    double library = std::numeric_limits<double>::max();
    double slots = std::numeric_limits<double>::max();
  };

  /// Of the next start. All ranks count the same ones. `tell(times)` is called half of `ahead` starts after the last
  /// that is timed, also where some have not been completed; `decide()`, which gives the times of the slowest rank of
  /// each way, as many later. `may_change`: as above.
  template <class Tell, class Decide>
  turn next(bool may_change, Tell tell, Decide decide) {
    if (decided_ && may_change && ++starts_ == again) {
      ++number_;
      best_ = {};
      starts_ = 0;
      decided_ = false;
    }
    turn t = last();
    if (decided_) return t;
    const int at = starts_++;
    if (at == 2 * tries + ahead / 2) tell(best_);
    if (at == 2 * tries + ahead) {
      const times slowest = decide();
      decided_ = true;
      starts_ = 0;
      won_ = slowest.slots < slowest.library;
    }
    t.timed = at < 2 * tries;
    t.by_slots = t.timed ? at >= tries : won_;
    return t;
  }
  /// A timed start has been completed, after so many seconds in MPI calls.
  void took(const turn& t, double seconds) noexcept {
    if (t.of != number_) return;
    double& best = t.by_slots ? best_.slots : best_.library;
    best = std::min(best, seconds);
  }
  /// Of a start that is not counted: as the last contest says.
  [[nodiscard]] turn last() const noexcept { return {.by_slots = won_, .of = number_}; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

 private:
  std::uint32_t number_ = 1;
  int starts_ = 0;  // since the last one was decided
  times best_;
  bool decided_ = false;
  bool won_ = true;  // the last one, by the slots
};

}  // namespace taquin::interpose
