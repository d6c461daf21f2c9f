#include "algorithms/in_place/aux_heap.hpp"

#include <algorithm>

namespace taquin::detail {

count_t aux_heap::longest() const noexcept {
  count_t most = 0;
  for (const run& r : free_) most = std::max(most, r.length);
  return most;
}

count_t aux_heap::take(count_t length) {
  auto best = free_.end();
  for (auto r = free_.begin(); r != free_.end(); ++r)
    if (r->length >= length && (best == free_.end() || r->length < best->length)) best = r;
  const count_t at = best->at;
  best->at += length;
  best->length -= length;
  if (best->length == 0) free_.erase(best);
  return at;
}

count_t aux_heap::take_at(count_t at, count_t wanted) {
  const auto r = std::ranges::find(free_, at, &run::at);
  if (r == free_.end()) return 0;
  const count_t n = std::min(wanted, r->length);
  r->at += n;
  r->length -= n;
  if (r->length == 0) free_.erase(r);
  return n;
}

void aux_heap::give_back(count_t at, count_t length) {
  const auto next = std::ranges::upper_bound(free_, at, {}, &run::at);
  const bool joins_next = next != free_.end() && at + length == next->at;
  const bool joins_previous = next != free_.begin() && std::prev(next)->at + std::prev(next)->length == at;
  if (joins_previous && joins_next) {
    std::prev(next)->length += length + next->length;
    free_.erase(next);
  } else if (joins_previous) {
    std::prev(next)->length += length;
  } else if (joins_next) {
    next->at -= length;
    next->length += length;
  } else {
    free_.insert(next, {at, length});
  }
}

}  // namespace taquin::detail
