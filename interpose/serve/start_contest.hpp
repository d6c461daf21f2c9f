// Starts of one kind by the MPI library and by slots, timed in turn; the faster way does those that follow.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/handover.hpp"

namespace taquin::interpose {

class start_contest {
 public:
  static constexpr int tries = agreed_slots::tries;
  static constexpr std::uint64_t again = 512;  ///< starts after which blocks that may have changed are measured again

  /// The server of a start.
  struct turn {
    bool by_slots = false;
    bool timed = false;
    std::uint32_t of = 0;  ///< its number
  };
  /// The least seconds of a start.
  struct times {
    double library = std::numeric_limits<double>::max();
    double slots = std::numeric_limits<double>::max();
  };
  /// Of the last tuning round that is decided, on the slowest rank.
  [[nodiscard]] const times& last_times() const noexcept { return slowest_; }
  /// The shared area of a rank on its node for one tuning round and the next: zero at first. The words of the first
  /// rank decide. A rank that is two rounds ahead of another one does not exist: the round between them is decided
  /// by the times of all.
  struct shared {
    struct entry {
      std::atomic<std::uint32_t> of;  // the tuning round, from 1 on
      times best;
    };
    std::array<entry, 2> published;
    std::array<handover::word, 2> decided;
  };

  /// The server of the next start. All ranks count the same ones, and find the same. `notes(rank)` gives what each of
  /// the ranks shares, of which this is `rank`. `may_change`: as above. Does not wait: until all ranks have published
  /// their times, the fastest of the last round does the starts, at first the slots.
  template <class Notes>
  turn next(int rank, int ranks, bool may_change, Notes notes) {
    const auto at = starts_++;
    if (at < static_cast<std::uint64_t>(2 * tries)) return {.by_slots = at >= tries, .timed = true, .of = number_};
    if (!decided_.closed) {
      if (timed_ == 2 * tries) publish(notes(rank));
      decided_ = handover::decide(notes(0).decided[number_ % 2], number_, at,
                                  [&]() -> std::optional<bool> { return faster(ranks, notes); });
      if (decided_.closed) static_cast<void>(faster(ranks, notes));  // all have published: for last_times
    }
    const turn t{.by_slots = decided_.closed && at > decided_.last ? decided_.chosen : won_, .of = number_};
    if (may_change && decided_.closed && at >= decided_.last + again) begin_again();
    return t;
  }
  /// A timed start has been completed, after so many seconds in MPI calls.
  void took(const turn& t, double seconds) noexcept {
    if (t.of != number_) return;
    double& best = t.by_slots ? best_.slots : best_.library;
    best = std::min(best, seconds);
    ++timed_;
  }

 private:
  void publish(shared& mine) noexcept {
    shared::entry& e = mine.published[number_ % 2];
    if (e.of.load(std::memory_order_relaxed) == number_) return;
    e.best = best_;
    e.of.store(number_, std::memory_order_release);
  }
  // Whether slots are, on the slowest rank of each way; nothing until all have published.
  template <class Notes>
  [[nodiscard]] std::optional<bool> faster(int ranks, Notes notes) {
    times slowest{.library = 0, .slots = 0};
    for (int r = 0; r < ranks; ++r) {
      const shared::entry& e = notes(r).published[number_ % 2];
      if (e.of.load(std::memory_order_acquire) != number_) return std::nullopt;
      slowest.library = std::max(slowest.library, e.best.library);
      slowest.slots = std::max(slowest.slots, e.best.slots);
    }
    slowest_ = slowest;
    return slowest.slots < slowest.library;
  }
  void begin_again() noexcept {
    won_ = decided_.chosen;
    decided_ = {};
    best_ = {};
    timed_ = 0;
    starts_ = 0;
    ++number_;
  }

  std::uint32_t number_ = 1;
  std::uint64_t starts_ = 0;  // of this round
  int timed_ = 0;             // of them, that have been completed
  times best_;
  times slowest_;
  handover::decision decided_;
  bool won_ = true;  // the last one, by the slots
};

}  // namespace taquin::interpose
