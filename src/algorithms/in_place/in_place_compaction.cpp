// How the machine of in_place enlarges free regions when a message has its maximum number of runs.
#include "algorithms/in_place/in_place_machine.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

// A compaction copies at most so many units for each that it makes usable, unless the machine can do nothing else.
constexpr count_t most_held = 2;

}  // namespace

bool in_place_machine::begin_any_compaction(bool last_resort) {
  for (std::size_t i = 0; i < recvs_.gaps().size(); ++i)
    if (begin_compaction(i, last_resort)) return true;
  return false;
}

// The paper's compaction of one block's rest, the gaps around gap i between two locations that data have arrived at:
// the unsent data move to its end, run by run from the last. It is for messages with the maximum number of runs, if it
// is worth its copies; as the `last_resort` for any free region. Returns whether it has started.
bool in_place_machine::begin_compaction(std::size_t i, bool last_resort) {
  const auto gaps = recvs_.gaps();
  const auto segments = sends_.segments();
  const auto rests = [&](std::size_t k) {
    return k < gaps.size() && gaps[k].source == gaps[i].source && gaps[k].state != gap_state::arriving;
  };
  const auto source = as_size(gaps[i].source);
  const bool full = recvs_.runs(gaps[i].source) >= limits_.runs && unanswered_[source] == 0;
  if (!rests(i) || !(full || last_resort)) return false;
  std::size_t first = i;
  while (first > 0 && rests(first - 1) && gaps[first - 1].end() == gaps[first].at) --first;
  std::size_t last = i;
  while (rests(last + 1) && gaps[last].end() == gaps[last + 1].at) ++last;
  const count_t begin = gaps[first].at;
  const count_t end = gaps[last].end();
  if (sends_.free_from(begin, 1) > 0) return false;
  count_t held = 0;
  std::size_t p = sends_.first_after(begin);
  for (; p < segments.size() && segments[p].at < end; ++p) {
    if (segments[p].slot >= 0) return false;
    held += segments[p].length;
  }
  const count_t free = end - begin - held;
  if (free == 0 || (!last_resort && (free < limits_.small_chunk || held > most_held * free))) return false;
  compacted_ = p;
  compact_begin_ = begin;
  compact_end_ = end;
  return true;
}

// The next move of a started compaction. The machine does nothing else until it has ended.
std::optional<local_move> in_place_machine::compact() {
  while (compact_begin_ < compact_end_ && compacted_ > 0) {
    const segment p = sends_.segments()[compacted_ - 1];
    if (p.end() <= compact_begin_) break;
    --compacted_;
    const count_t to = compact_end_ - p.length;
    compact_end_ = to;
    if (to == p.at) continue;
    sends_.relocate(compacted_, to);
    changed_ = true;
    return local_move{{p.at, to, p.length}, p.peer == rank_ ? -1 : p.peer};
  }
  compact_end_ = compact_begin_;
  return {};
}

}  // namespace taquin::detail
