#include "algorithms/in_place/index_sets.hpp"

#include <algorithm>

#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

template <class Runs>
std::size_t first_ending_after(const Runs& runs, count_t at) noexcept {
  const auto found = std::ranges::upper_bound(runs, at, {}, [](const auto& r) { return r.end(); });
  return as_size(found - runs.begin());
}

auto position(auto& runs, std::size_t i) { return runs.begin() + static_cast<std::ptrdiff_t>(i); }

}  // namespace

send_set::send_set(std::size_t capacity, std::pmr::memory_resource* memory) : segments_(memory) {
  array_list::take(*this, capacity);
}

void send_set::reset(std::span<const peer_block> out, std::span<const peer_block> in, const first_units& without) {
  segments_.clear();
  out_ = out;
  left_ = 0;
  moved_ = false;
  for (const peer_block& b : out) {
    const count_t first = without(b.peer);
    if (first == b.length) continue;
    segments_.push_back({b.at + first, b.length - first, first, b.peer, -1});
    left_ += b.length - first;
  }
  std::ranges::sort(segments_, {}, &segment::at);
  for (const peer_block& b : in)
    for (const count_t border : {b.at, b.at + b.length}) {
      const std::size_t i = first_after(border);
      if (i < segments_.size() && segments_[i].at < border) split(i, border - segments_[i].at);
    }
}

// Makes the first `length` units of segment i a segment of their own.
void send_set::split(std::size_t i, count_t length) {
  segment rest = segments_[i];
  rest.at += length;
  rest.offset += length;
  rest.length -= length;
  segments_[i].length = length;
  segments_.insert(position(segments_, i + 1), rest);
}

void send_set::erase(std::size_t i) {
  if (segments_[i].slot < 0) left_ -= segments_[i].length;
  segments_.erase(position(segments_, i));
}

std::size_t send_set::find(int peer, count_t offset) const noexcept {
  const auto holds = [&](const segment& p) {
    return p.peer == peer && p.slot < 0 && p.offset <= offset && offset < p.offset + p.length;
  };
  const auto block = std::ranges::lower_bound(out_, peer, {}, &peer_block::peer);
  if (block == out_.end() || block->peer != peer || offset < 0 || offset >= block->length) return segments_.size();
  const std::size_t i = first_after(block->at + offset);
  if (i < segments_.size() && holds(segments_[i])) return i;
  if (!moved_) return segments_.size();
  return as_size(std::ranges::find_if(segments_, holds) - segments_.begin());
}

send_set::run send_set::take(int peer, count_t offset, count_t length, int slot) {
  std::size_t i = find(peer, offset);
  if (i == segments_.size()) return {};
  if (segments_[i].offset < offset) {
    split(i, offset - segments_[i].offset);
    ++i;
  }
  run all{segments_[i].at, 0};
  while (i < segments_.size() && all.length < length) {
    const segment& p = segments_[i];
    if (p.peer != peer || p.slot >= 0 || p.offset != offset + all.length || p.at != all.at + all.length) break;
    const count_t part = std::min(p.length, length - all.length);
    if (part < p.length) split(i, part);
    segments_[i].slot = slot;
    all.length += part;
    ++i;
  }
  left_ -= all.length;
  return all;
}

void send_set::release(int slot, count_t at) {
  const std::size_t first = first_after(at);
  std::size_t last = first;
  while (last < segments_.size() && segments_[last].slot == slot) ++last;
  segments_.erase(position(segments_, first), position(segments_, last));
}

std::size_t send_set::first_after(count_t at) const noexcept { return first_ending_after(segments_, at); }

count_t send_set::free_from(count_t at, count_t most) const noexcept {
  const std::size_t i = first_after(at);
  return i == segments_.size() ? most : std::clamp<count_t>(segments_[i].at - at, 0, most);
}

count_t send_set::free_before(count_t end, count_t most) const noexcept {
  const auto after = std::ranges::lower_bound(segments_, end, {}, &segment::at);
  return after == segments_.begin() ? most : std::clamp<count_t>(end - std::prev(after)->end(), 0, most);
}

recv_set::recv_set(std::size_t capacity, std::size_t sources, std::pmr::memory_resource* memory)
    : gaps_(memory), runs_(memory) {
  array_list::take(*this, capacity, sources);
}

void recv_set::reset(std::span<const peer_block> in, const first_units& without) {
  gaps_.clear();
  runs_.assign(in.size(), 0);
  left_ = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const count_t first = without(in[k].peer);
    const count_t length = in[k].length - first;
    if (length == 0) continue;
    gaps_.push_back({in[k].at + first, length, first, 0, static_cast<int>(k), gap_state::open});
    runs_[k] = 1;
    left_ += length;
  }
}

std::size_t recv_set::at(count_t at) const noexcept {
  return as_size(std::ranges::lower_bound(gaps_, at, {}, &gap::at) - gaps_.begin());
}

std::size_t recv_set::first_after(count_t at) const noexcept { return first_ending_after(gaps_, at); }

// Makes the first `length` units of gap i a gap of their own.
void recv_set::cut(std::size_t i, count_t length) {
  gap rest = gaps_[i];
  rest.at += length;
  rest.offset += length;
  rest.aux += length;
  rest.length -= length;
  gaps_[i].length = length;
  gaps_.insert(position(gaps_, i + 1), rest);
  if (rest.state == gap_state::open) ++runs_[as_size(rest.source)];
}

std::size_t recv_set::reserve(std::size_t i, count_t at, count_t length, gap_state how, count_t aux) {
  if (gaps_[i].at < at) {
    cut(i, at - gaps_[i].at);
    ++i;
  }
  if (gaps_[i].length > length) cut(i, length);
  gaps_[i].state = how;
  gaps_[i].aux = aux;
  --runs_[as_size(gaps_[i].source)];
  left_ -= length;
  return i;
}

void recv_set::fill(std::size_t i, count_t length) {
  gap& g = gaps_[i];
  if (g.length == length) {
    gaps_.erase(position(gaps_, i));
    return;
  }
  g.at += length;
  g.offset += length;
  g.aux += length;
  g.length -= length;
}

// Gap i is open from now on, and merged with open neighbours.
void recv_set::open(std::size_t i) {
  const auto one = [](const gap& a, const gap& b) {
    return a.state == gap_state::open && b.state == gap_state::open && a.source == b.source && a.end() == b.at;
  };
  gaps_[i].state = gap_state::open;
  left_ += gaps_[i].length;
  int& runs = ++runs_[as_size(gaps_[i].source)];
  const auto join = [&](std::size_t k) {
    gaps_[k].length += gaps_[k + 1].length;
    gaps_.erase(position(gaps_, k + 1));
    --runs;
  };
  if (i + 1 < gaps_.size() && one(gaps_[i], gaps_[i + 1])) join(i);
  if (i > 0 && one(gaps_[i - 1], gaps_[i])) join(i - 1);
}

void recv_set::stage(std::size_t i, count_t length) {
  if (length < gaps_[i].length) {
    cut(i, length);
    open(i + 1);
  }
  gaps_[i].state = gap_state::staged;
}

void recv_set::reopen_rest(std::size_t i, count_t length) {
  fill(i, length);
  open(i);
}

}  // namespace taquin::detail
