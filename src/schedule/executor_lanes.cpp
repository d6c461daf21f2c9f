// Rounds with lanes: each goes through its stages by itself.
#include <algorithm>

#include "mpi/check.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

// Messages from `first` up to the next one that waits, or to another lane, or to `end`.
std::uint32_t stage_end(const std::pmr::vector<message>& messages, std::uint32_t first, std::uint32_t end) noexcept {
  std::uint32_t i = first + 1;
  while (i < end && !messages[i].waits && messages[i].lane == messages[first].lane) ++i;
  return i;
}

}  // namespace

// The slots that the messages [from, to) of a round need: for each lane its widest stage.
std::uint32_t executor::measure_lanes(std::uint32_t from, std::uint32_t to) const noexcept {
  std::uint32_t slots = 0;
  std::uint32_t widest = 0;
  for (std::uint32_t i = from; i < to;) {
    const std::uint32_t end = stage_end(schedule_.messages, i, to);
    widest = std::max(widest, end - i);
    if (end == to || schedule_.messages[end].lane != schedule_.messages[i].lane) slots += std::exchange(widest, 0);
    i = end;
  }
  return slots;
}

void executor::enter_lanes() {
  const auto& messages = schedule_.messages;
  const std::uint32_t end = schedule_.rounds[round_].messages_end;
  std::ranges::fill(lanes_, lane{});
  pending_ = 0;
  used_ = 0;
  for (std::uint32_t i = first_message(); i < end;) {
    lane& l = lanes_[messages[i].lane];
    l.next = i;
    l.first_slot = used_;
    std::uint32_t next = i;
    while (next < end && messages[next].lane == messages[i].lane) ++next;
    used_ += measure_lanes(i, next);
    l.end = i = next;
  }
  for (std::size_t k = 0; k < schedule_.rounds[round_].lanes; ++k) post_stage(static_cast<std::uint8_t>(k));
}

// Posts the lane's next stage, if there is one; nothing of the lane is pending.
void executor::post_stage(std::uint8_t k) {
  lane& l = lanes_[k];
  if (l.next == l.end) return;
  const std::uint32_t end = stage_end(schedule_.messages, l.next, l.end);
  l.pending = end - l.next;
  for (std::uint32_t slot = l.first_slot; l.next < end; ++slot) post(slot, l.next++);
}

bool executor::advance_lanes(bool block) {
  complete_some(block, [&](std::uint32_t slot) { --lanes_[schedule_.messages[in_slot_[slot]].lane].pending; });
  // A stage is posted when the call's answers were all taken: its requests go into slots that were just freed.
  for (std::size_t k = 0; k < schedule_.rounds[round_].lanes; ++k)
    if (lanes_[k].pending == 0) post_stage(static_cast<std::uint8_t>(k));
  return pending_ == 0;
}

}  // namespace taquin::detail
