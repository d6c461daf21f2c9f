// What a rank learns of a block that comes to it, and how notices get there: a pure state machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::detail {

/// A block that is to be asked for.
struct notice {
  static constexpr std::int32_t here = -1;  ///< instead of a destination: the block has come with its notice
  std::int32_t from = 0;
  std::int32_t to = 0;
  count_t count = 0;  ///< elements
  count_t first = 0;  ///< elements of the sender's data before the block

  bool operator==(const notice&) const = default;
};

/// Notices on one rank. In round k a rank hands on those whose way to their destination, upwards and modulo p, has bit
/// k: to the rank 2^k above. Each rank gets one message and sends one in every round, and has all of its own after the
/// last. Notices of one rank for another go the same way, and stay in their order.
class notice_rounds {
 public:
  notice_rounds(int rank, int ranks, std::pmr::memory_resource* memory)
      : rank_(rank), ranks_(ranks), here_(memory), leaving_(memory) {}

  [[nodiscard]] static int rounds(int ranks) noexcept {
    int k = 0;
    while ((std::int64_t{1} << k) < ranks) ++k;
    return k;
  }
  [[nodiscard]] int receiver(int round) const noexcept {
    return static_cast<int>((rank_ + (std::int64_t{1} << round)) % ranks_);
  }
  [[nodiscard]] int sender(int round) const noexcept {
    return static_cast<int>((rank_ + ranks_ - (std::int64_t{1} << round)) % ranks_);
  }

  void reserve(std::size_t n) { here_.reserve(n); }
  void add(const notice& n) { here_.push_back(n); }
  void add(std::span<const notice> n) { here_.insert(here_.end(), n.begin(), n.end()); }
  /// Takes out what leaves in this round; valid until the next.
  std::span<const notice> leave(int round);
  /// There is no memory for them: the call fails. What leaves in this round does so.
  void drop() noexcept { here_.clear(); }

  /// After the last round: ordered by source, blocks of one in their order.
  std::span<const notice> sorted();

 private:
  [[nodiscard]] bool leaves(const notice& n, int round) const noexcept {
    const std::int64_t way = (std::int64_t{n.to} - rank_ + ranks_) % ranks_;
    return (way >> round & 1) != 0;
  }

  int rank_;
  int ranks_;
  std::pmr::vector<notice> here_;
  std::pmr::vector<notice> leaving_;
};

}  // namespace taquin::detail
