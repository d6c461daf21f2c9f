// The walk of one rank through its schedule: its rounds one after another, in each round its lanes, in each lane its
// stages. The executor, the simulated runner and the evaluation under a model use this walk; they define how a message
// is posted and when one is complete.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

#include "schedule/schedule.hpp"

namespace taquin::detail {

class walk {
 public:
  /// A lane of the current round; a round without lanes is one lane whose messages form no stages.
  struct lane {
    std::uint32_t next = 0;           ///< its next message
    std::uint32_t end = 0;            ///< one past its last
    std::uint32_t open = 0;           ///< posted and not complete
    std::uint32_t first_request = 0;  ///< of its messages in flight: as many slots as its widest stage has messages
  };

  /// Through `s`, which outlives this; allocates the lanes.
  explicit walk(const schedule& s, std::pmr::memory_resource* memory = std::pmr::new_delete_resource());
  /// Bytes that it takes for rounds of so many lanes.
  static constexpr std::size_t bytes(std::size_t lanes) noexcept { return lanes * sizeof(lane); }

  /// Before the first round, or after the last.
  void start() noexcept {
    round_ = 0;
    open_ = requests_ = 0;
    entered_ = false;
  }
  void stop() noexcept { round_ = schedule_->rounds.size(); }

  [[nodiscard]] bool at_end() const noexcept { return round_ == schedule_->rounds.size(); }
  [[nodiscard]] std::size_t round() const noexcept { return round_; }
  [[nodiscard]] const detail::round& now() const noexcept { return schedule_->rounds[round_]; }
  /// The round waits for arrivals, or is not entered.
  [[nodiscard]] bool entered() const noexcept { return entered_; }

  /// Sets out the lanes of the round. The caller then posts what each may, and does the round's copies.
  void enter() noexcept;
  [[nodiscard]] std::size_t lanes() const noexcept { return staged() ? now().lanes : 1; }
  [[nodiscard]] std::size_t lane_of(const message& m) const noexcept { return staged() ? m.lane : 0; }
  [[nodiscard]] const lane& at(std::size_t k) const noexcept { return staged() ? lanes_[k] : single_; }
  /// The lanes go by stages.
  [[nodiscard]] bool staged() const noexcept { return now().lanes > 0; }
  /// Messages that the round may have concurrently in flight, those that joined it included.
  [[nodiscard]] std::uint32_t requests() const noexcept { return requests_; }
  /// Messages in flight; messages of the round that are not posted yet.
  [[nodiscard]] std::uint32_t open() const noexcept { return open_; }
  [[nodiscard]] std::uint32_t unposted() const noexcept { return unposted_; }

  /// Calls post(message) for each message of lane k that may be posted now: as many as may be in flight, or the lane's
  /// next stage. `post` may report that messages are complete.
  template <class Post>
  void post(std::size_t k, Post post);
  /// A message of lane k, or all that are in flight, are complete.
  void complete(std::size_t k) noexcept {
    --get(k).open;
    --open_;
  }
  void complete_all() noexcept {
    for (std::size_t k = 0; k < lanes(); ++k) get(k).open = 0;
    open_ = 0;
  }

  /// The round is done: all is posted, and complete unless the next round completes it.
  [[nodiscard]] bool done() const noexcept { return entered_ && unposted_ == 0 && (open_ == 0 || now().joins); }
  /// Turns to the next round.
  void leave() noexcept {
    if (!now().joins) requests_ = 0;
    ++round_;
    entered_ = false;
  }

 private:
  [[nodiscard]] lane& get(std::size_t k) noexcept { return staged() ? lanes_[k] : single_; }
  [[nodiscard]] std::uint32_t stage_end(std::uint32_t first, std::uint32_t end) const noexcept;
  void enter_lanes(std::uint32_t first, std::uint32_t end) noexcept;

  const schedule* schedule_;
  std::pmr::vector<lane> lanes_;
  lane single_;
  std::size_t round_ = 0;
  std::uint32_t open_ = 0;
  std::uint32_t unposted_ = 0;
  std::uint32_t requests_ = 0;
  std::uint32_t most_ = 0;  // concurrently in flight, in a round without stages
  bool entered_ = false;
};

inline void walk::enter() noexcept {
  const auto [first, end] = schedule_->messages_of(round_);
  unposted_ = end - first;
  entered_ = true;
  if (staged()) return enter_lanes(first, end);
  const std::uint32_t in_flight = now().in_flight;
  most_ = in_flight == 0 ? std::numeric_limits<std::uint32_t>::max() : open_ + in_flight;
  single_ = {first, end, open_, requests_};
  requests_ += in_flight == 0 ? unposted_ : std::min(unposted_, in_flight);
}

template <class Post>
void walk::post(std::size_t k, Post post) {
  lane& l = get(k);
  const auto take = [&] {
    ++l.open;
    ++open_;
    --unposted_;
    post(l.next++);
  };
  if (!staged()) {
    while (l.next < l.end && l.open < most_) take();
  } else if (l.open == 0 && l.next < l.end) {
    for (const std::uint32_t end = stage_end(l.next, l.end); l.next < end;) take();
  }
}

}  // namespace taquin::detail
