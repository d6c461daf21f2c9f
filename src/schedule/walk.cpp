#include "schedule/walk.hpp"

#include <algorithm>
#include <utility>

namespace taquin::detail {

walk::walk(const schedule& s, std::pmr::memory_resource* memory) : schedule_(&s), lanes_(memory) {
  std::uint32_t lanes = 0;
  for (const auto& r : s.rounds) lanes = std::max(lanes, r.lanes);
  lanes_.resize(lanes);
}

// Messages from `first` up to the next one that waits, or to another lane, or to `end`.
std::uint32_t walk::stage_end(std::uint32_t first, std::uint32_t end) const noexcept {
  const auto& messages = schedule_->messages;
  std::uint32_t i = first + 1;
  while (i < end && !messages[i].waits && messages[i].lane == messages[first].lane) ++i;
  return i;
}

void walk::enter_lanes(std::uint32_t first, std::uint32_t end) noexcept {
  const auto& messages = schedule_->messages;
  std::fill_n(lanes_.begin(), now().lanes, lane{});
  requests_ = 0;
  while (first < end) {
    lane& l = lanes_[messages[first].lane];
    l = {first, first, 0, requests_};
    std::uint32_t widest = 0;
    while (l.end < end && messages[l.end].lane == messages[first].lane) {
      const std::uint32_t stage = std::exchange(l.end, stage_end(l.end, end));
      widest = std::max(widest, l.end - stage);
    }
    requests_ += widest;
    first = l.end;
  }
}

}  // namespace taquin::detail
