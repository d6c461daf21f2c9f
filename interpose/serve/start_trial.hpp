// Starts of one kind by the MPI library and by slots, timed in turn; the faster way does those that follow.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "interpose/serve/agreed_slots.hpp"
#include "interpose/serve/handover.hpp"
#include "select/trial.hpp"

namespace taquin::interpose {

class start_trial {
 public:
  static constexpr int tries = 3;
  static constexpr std::size_t library = 0;
  static constexpr std::size_t slots = 1;
  static constexpr std::uint64_t again = 512;  ///< starts after which blocks that may have changed are measured again

  /// The server of a start.
  struct turn {
    bool by_slots = false;
    bool timed = false;
    bool decides = false;  ///< this rank knows the outcome from this start on
    std::uint32_t of = 0;  ///< its number
  };
  /// The least seconds of a start of each way, on its slowest rank, in the last tuning round that is decided.
  [[nodiscard]] const std::array<double, 2>& last_times() const noexcept { return slowest_; }
  /// The shared area of a rank on its node for one tuning round and the next: zero at first. The words of the first
  /// rank decide. A rank that is two rounds ahead of another one does not exist: the round between them is decided
  /// by the times of all.
  struct shared {
    struct entry {
      std::atomic<std::uint32_t> of;  // the tuning round, from 1 on
      std::array<double, 2> best;
    };
    std::array<entry, 2> published;
    std::array<handover::word, 2> decided;
  };

  /// The server of the next start. All ranks count the same ones, and find the same. `user_area(rank)` gives what each
  /// of the ranks shares, of which this is `rank`. `may_change`: as above. Does not wait: until all ranks published
  /// their times, the fastest of the last round does the starts, at first the slots.
  template <class Area>
  turn next(int rank, int ranks, bool may_change, Area user_area) {
    const auto at = starts_++;
    if (at < mine_.calls()) return {.by_slots = mine_.candidate(at) == slots, .timed = true, .of = number_};
    const bool was_decided = decided_.closed;
    if (!was_decided) {
      if (timed_ == mine_.calls()) publish(user_area(rank));
      decided_ = handover::decide(user_area(0).decided[number_ % 2], number_, at,
                                  [&]() -> std::optional<bool> { return faster(ranks, user_area); });
      if (decided_.closed) static_cast<void>(faster(ranks, user_area));  // all have published: for last_times
    }
    const turn t{.by_slots = decided_.closed && at > decided_.last ? decided_.chosen : won_,
                 .decides = decided_.closed && !was_decided,
                 .of = number_};
    if (may_change && decided_.closed && at >= decided_.last + again) begin_again();
    return t;
  }
  /// Before the first start: all ranks know this outcome already. Later, nothing.
  void adopt(bool by_slots, const std::array<double, 2>& times) noexcept {
    if (starts_ > 0 || number_ > 1) return;
    decided_ = {.closed = true, .chosen = by_slots, .last = mine_.calls()};
    starts_ = mine_.calls() + 1;
    slowest_ = times;
  }
  /// The slots won. Of a trial that has an outcome.
  [[nodiscard]] bool slots_won() const noexcept { return decided_.chosen; }
  /// The MPI library does the next start.
  [[nodiscard]] bool is_lost() const noexcept { return decided_.closed && !decided_.chosen && starts_ > decided_.last; }
  /// A timed start has been completed, after so many seconds in MPI calls.
  void took(const turn& t, double seconds) noexcept {
    if (t.of != number_) return;
    mine_.took(t.by_slots ? slots : library, seconds);
    ++timed_;
  }

 private:
  void publish(shared& mine) noexcept {
    shared::entry& e = mine.published[number_ % 2];
    if (e.of.load(std::memory_order_relaxed) == number_) return;
    std::ranges::copy(mine_.best(), e.best.begin());
    e.of.store(number_, std::memory_order_release);
  }
  // Whether slots are, on the slowest rank of each way; nothing until all have published.
  template <class Area>
  [[nodiscard]] std::optional<bool> faster(int ranks, Area user_area) {
    std::array<double, 2> slowest{};
    for (int r = 0; r < ranks; ++r) {
      const shared::entry& e = user_area(r).published[number_ % 2];
      if (e.of.load(std::memory_order_acquire) != number_) return std::nullopt;
      for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], e.best[i]);
    }
    slowest_ = slowest;
    return slowest[slots] < slowest[library];
  }
  void begin_again() noexcept {
    won_ = decided_.chosen;
    decided_ = {};
    mine_ = blank;
    timed_ = 0;
    starts_ = 0;
    ++number_;
  }

  static constexpr detail::trial blank{2, tries, detail::trial::order::one_after_the_other};

  std::uint32_t number_ = 1;
  std::uint64_t starts_ = 0;  // of this round
  std::uint64_t timed_ = 0;   // of them, that have been completed
  detail::trial mine_ = blank;
  std::array<double, 2> slowest_{};
  handover::decision decided_;
  bool won_ = true;  // the last one, by the slots
};

}  // namespace taquin::interpose
