// How many calls are passed over when one was not worth its attempt: twice as many after each further one.
#pragma once

#include <algorithm>
#include <utility>

namespace taquin::interpose {

class growing_pause {
 public:
  static constexpr int least = 16;
  static constexpr int most = 256;

  /// The calls to pass over after an attempt: none if it was worth it.
  [[nodiscard]] int after(bool worth_it) noexcept {
    if (!worth_it) return std::exchange(next_, std::min(2 * next_, most));
    next_ = least;
    return 0;
  }

 private:
  int next_ = least;
};

}  // namespace taquin::interpose
