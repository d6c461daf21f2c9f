// How many calls the communicators of this process live for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace taquin::detail {

/// The first calls on a communicator, two or four, go to the MPI library. Where the last communicators were freed after
/// at most four times as many, the next one does not make what only later calls use before it has had that many; and
/// once more with four times that.
class lives {
 public:
  static lives& of_process() noexcept {
    static constinit lives all;
    return all;
  }
  static constexpr int steps = 2;
  static constexpr std::uint64_t factor = 4;

  /// A communicator was freed after `calls`, of which the first `first` could go to the MPI library anyway.
  void learn(std::uint64_t calls, std::uint64_t first) noexcept {
    for (auto& score : scores_) {
      if (calls <= first) return;
      first *= factor;
      const bool ended = calls <= first;
      const int now = score.load(std::memory_order_relaxed);
      score.store(ended ? (now < most ? now + 1 : most) : (now > 0 ? now - 1 : 0), std::memory_order_relaxed);
      if (ended) return;
    }
  }
  /// Whether a communicator that has had the calls of `step` such steps is likely to be freed within the next ones.
  [[nodiscard]] bool end_soon(int step) const noexcept {
    for (; step < steps; ++step)
      if (scores_[static_cast<std::size_t>(step)].load(std::memory_order_relaxed) >= likely) return true;
    return false;
  }

 private:
  static constexpr int most = 3;
  static constexpr int likely = 2;
  std::array<std::atomic<int>, steps> scores_{};
};

}  // namespace taquin::detail
