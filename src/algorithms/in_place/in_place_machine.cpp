#include "algorithms/in_place/in_place_machine.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <numeric>

#include "base/sizes.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

in_place_machine::in_place_machine(int rank, std::span<const peer_block> out, std::span<const peer_block> in,
                                   const in_place_limits& limits, std::pmr::memory_resource* memory)
    : rank_(rank),
      out_(out),
      in_(in),
      limits_(limits),
      border_(border_of(out, in)),
      sends_(limits.segments(out.size(), in.size()), memory),
      recvs_(limits.gaps(in.size()), in.size(), memory),
      aux_(limits.free_runs(), memory),
      free_sends_(memory),
      send_at_(memory),
      free_requests_(memory),
      outstanding_(memory),
      unanswered_(memory) {
  array_list::take(*this, limits, in.size());
}

std::size_t in_place_machine::bytes(const in_place_limits& l, std::size_t out, std::size_t in) noexcept {
  return send_set::bytes(l.segments(out, in)) + recv_set::bytes(l.gaps(in), in) + aux_heap::bytes(l.free_runs()) +
         array_list::bytes<in_place_machine>(l, in);
}

void in_place_machine::reset(const first_units& others_move) {
  sends_.reset(out_, in_, others_move);
  recvs_.reset(in_, others_move);
  aux_.reset(limits_.aux);
  find_scratch();
  free_sends_.resize(send_at_.size());
  std::iota(free_sends_.begin(), free_sends_.end(), 0);
  free_requests_.resize(outstanding_.size());
  std::iota(free_requests_.begin(), free_requests_.end(), 0);
  std::ranges::fill(unanswered_, 0);
  const auto self = std::ranges::find(out_, rank_, &peer_block::peer);
  self_left_ = self == out_.end() ? 0 : self->length;
  staged_ = 0;
  turn_ = 0;
  compact_end_ = compact_begin_;
  changed_ = true;
  waited_ = true;
  rounds_ = 0;
}

in_place_step in_place_machine::next(bool idle) {
  if (auto m = compact()) return {{}, m};
  if (!changed_ && !idle) return {};
  if (auto m = place_staged(false)) return {{}, m};
  if (recvs_.left() > 0 && !free_requests_.empty()) {
    if (auto m = slide()) return {{}, m};
    if (auto h = best_free_region(false)) return make_request(*h, gap_state::arriving);
    if (auto h = best_staging(false)) return make_request(*h, gap_state::arriving_staged);
    if (blocked_ && begin_any_compaction(false)) return {{}, compact()};
  }
  if (idle) {
    if (auto m = place_staged(true)) return {{}, m};
    if (recvs_.left() > 0 && !free_requests_.empty()) {
      if (auto h = best_free_region(true)) return make_request(*h, gap_state::arriving);
      if (auto h = best_staging(true)) return make_request(*h, gap_state::arriving_staged);
    }
    if (free_requests_.size() == outstanding_.size() && begin_any_compaction(true)) return {{}, compact()};
  }
  changed_ = false;
  waited_ = true;
  return {};
}

// Where only send blocks lie, data may be staged after these have left. In auxiliary memory's numbers these locations
// follow it, with one number between, so that no run spans both.
void in_place_machine::find_scratch() {
  scratch_length_ = 0;
  scratch_open_ = false;
  if (!limits_.scratch) return;
  const auto gaps = recvs_.gaps();
  count_t begin = 0;
  count_t end = 0;
  for (const segment& p : sends_.segments()) {
    const std::size_t g = recvs_.first_after(p.at);
    if (g < gaps.size() && gaps[g].at < p.end()) continue;
    if (p.at != end) begin = p.at;
    end = p.end();
    if (end - begin > scratch_length_) {
      scratch_at_ = begin;
      scratch_length_ = end - begin;
    }
  }
}

void in_place_machine::open_scratch() {
  if (scratch_open_ || scratch_length_ == 0) return;
  if (sends_.free_from(scratch_at_, scratch_length_) < scratch_length_) return;
  scratch_open_ = true;
  aux_.give_back(limits_.aux + 1, scratch_length_);
}

count_t in_place_machine::aux_location(count_t at) const noexcept {
  return at < limits_.aux ? border_ + at : scratch_at_ + at - limits_.aux - 1;
}

in_place_answer in_place_machine::requested(int peer, count_t offset, count_t length) {
  const int slot = free_sends_.back();
  const auto run = sends_.take(peer, offset, length, slot);
  if (run.length == 0) return {};
  free_sends_.pop_back();
  send_at_[as_size(slot)] = run.at;
  return {slot, run.at, run.length};
}

bool in_place_machine::fetched(int peer, count_t offset, count_t length) {
  for (count_t done = 0; done < length;) {
    const auto run = sends_.take(peer, offset + done, length - done, limits_.sends);
    if (run.length == 0) return false;
    sends_.release(limits_.sends, run.at);
    done += run.length;
  }
  open_scratch();
  changed_ = true;
  return true;
}

void in_place_machine::sent(int slot) {
  sends_.release(slot, send_at_[as_size(slot)]);
  free_sends_.push_back(slot);
  open_scratch();
  changed_ = true;
}

void in_place_machine::arrived(int slot, count_t length) {
  const requested_part f = outstanding_[as_size(slot)];
  free_requests_.push_back(slot);
  changed_ = true;
  const std::size_t i = recvs_.at(f.at);
  const gap g = recvs_.gaps()[i];
  --unanswered_[as_size(g.source)];
  if (g.state == gap_state::arriving_staged) {
    if (length < f.length) aux_.give_back(g.aux + length, f.length - length);
    recvs_.stage(i, length);
  } else if (length < f.length) {
    recvs_.reopen_rest(i, length);
  } else {
    recvs_.fill(i, length);
  }
}

// A staged run whose place is free moves there: whole, or as much of its beginning or its end as fits, if that is half
// of it or `any_part` is enough. Data that are one unit away from the places of those that leave never have all of
// their place free while the data behind them wait for this run's memory.
std::optional<local_move> in_place_machine::place_staged(bool any_part) {
  if (staged_ == 0) return {};
  const auto gaps = recvs_.gaps();
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const gap g = gaps[i];
    if (g.state != gap_state::staged) continue;
    const count_t first = sends_.free_from(g.at, g.length);
    const count_t last = first == g.length ? 0 : sends_.free_before(g.end(), g.length);
    const count_t n = std::max(first, last);
    if (n == 0 || (2 * n < g.length && !any_part)) continue;
    const count_t skipped = first < last ? g.length - n : 0;
    aux_.give_back(g.aux + skipped, n);
    if (n == g.length) --staged_;
    if (skipped > 0) {
      recvs_.fill_end(i, n);
    } else {
      recvs_.fill(i, n);
    }
    changed_ = true;
    return local_move{{aux_location(g.aux + skipped), g.at + skipped, n}};
  }
  return {};
}

// Data that stay on this rank and whose old and new places overlap move in one piece when all places beyond their own
// are free, in either direction.
std::optional<local_move> in_place_machine::slide() {
  if (self_left_ == 0) return {};
  const auto block = std::ranges::find(in_, rank_, &peer_block::peer);
  if (block == in_.end()) return {};
  const auto segments = sends_.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const segment p = segments[i];
    if (p.peer != rank_) continue;
    const count_t to = block->at + p.offset;
    const count_t distance = to < p.at ? p.at - to : to - p.at;
    if (distance >= p.length) continue;
    const std::size_t k = recvs_.first_after(to);
    if (k == recvs_.gaps().size()) continue;
    const gap& g = recvs_.gaps()[k];
    if (g.state != gap_state::open || g.at > to || g.end() < to + p.length) continue;
    const count_t beyond = to < p.at ? to : p.end();
    if (sends_.free_from(beyond, distance) < distance) continue;
    const bool inner = g.at < to && to + p.length < g.end();
    if (inner && recvs_.runs(g.source) >= limits_.runs) continue;
    sends_.erase(i);
    self_left_ -= p.length;
    recvs_.fill(recvs_.reserve(k, to, p.length, gap_state::arriving, 0), p.length);
    changed_ = true;
    if (distance == 0) return slide();
    return local_move{{p.at, to, p.length}};
  }
  return {};
}

template <class Visit>
void in_place_machine::for_each_free_region(Visit visit) const {
  const auto gaps = recvs_.gaps();
  const auto segments = sends_.segments();
  std::size_t p = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i].state != gap_state::open) continue;
    count_t at = gaps[i].at;
    while (at < gaps[i].end()) {
      while (p < segments.size() && segments[p].end() <= at) ++p;
      const count_t end = p < segments.size() ? std::min(gaps[i].end(), segments[p].at) : gaps[i].end();
      if (end > at) visit(free_region{i, at, end - at});
      at = p < segments.size() ? std::max(end, std::min(gaps[i].end(), segments[p].end())) : end;
    }
  }
}

// Requests keep the runs of a message few. From the limit on only the first run's beginning may be requested, one
// request at a time: the data that a short answer leaves then rejoin their run.
bool in_place_machine::may_request(const gap& g, count_t at) const noexcept {
  const int unanswered = unanswered_[as_size(g.source)];
  if (recvs_.runs(g.source) >= limits_.runs) return unanswered == 0 && at == g.at;
  return unanswered < limits_.per_peer;
}

// The longest part of a free region, up to a chunk, that may be requested; among equals one at the border of its run,
// so that runs stay few, then one whose source has the fewest of our requests.
std::optional<in_place_machine::free_region> in_place_machine::best_free_region(bool any_size) {
  std::optional<free_region> best;
  blocked_ = false;
  bool best_inner = false;
  int best_unanswered = 0;
  for_each_free_region([&](free_region h) {
    const gap& g = recvs_.gaps()[h.gap];
    const bool low = h.at == g.at;
    const bool high = h.at + h.length == g.end();
    if (h.length > limits_.chunk) {
      if (!low && high) h.at += h.length - limits_.chunk;
      h.length = limits_.chunk;
    }
    if (h.length < limits_.small_chunk && h.length < g.length && !any_size) return;
    if (!may_request(g, h.at)) {
      blocked_ = true;
      return;
    }
    const bool inner = !low && !high;
    const int unanswered = unanswered_[as_size(g.source)];
    if (best) {
      if (h.length < best->length) return;
      if (h.length == best->length && (inner > best_inner || (inner == best_inner && unanswered >= best_unanswered)))
        return;
    }
    best = h;
    best_inner = inner;
    best_unanswered = unanswered;
  });
  return best;
}

// If data stand in each other's place it is enough that one of them passes through auxiliary memory. Of a pair, each
// rank stages one half of the other's data; in longer cycles one rank of four does, each another quarter.
std::optional<in_place_machine::free_region> in_place_machine::worth_staging(std::size_t i) const {
  const gap& g = recvs_.gaps()[i];
  const peer_block& from = source(g);
  if (from.peer == rank_) return {};
  const std::size_t p = sends_.first_after(g.at);
  const bool mutual =
      p < sends_.segments().size() && sends_.segments()[p].at <= g.at && sends_.segments()[p].peer == from.peer;
  const int parts = mutual ? 2 : 4;
  const int mine = mutual ? (rank_ < from.peer ? 0 : 1) : rank_ % 4;
  const count_t begin = std::max(g.at, from.at + from.length * mine / parts);
  const count_t end = std::min(g.end(), from.at + from.length * (mine + 1) / parts);
  return begin < end ? std::optional(free_region{i, begin, end - begin}) : std::nullopt;
}

// The beginning of some message's first run, through auxiliary memory.
std::optional<in_place_machine::free_region> in_place_machine::best_staging(bool idle) const {
  const count_t space = std::min(aux_.longest(), limits_.aux_chunk);
  if (space == 0 || staged_ == as_size(limits_.staged)) return {};
  const bool starving = free_requests_.size() == outstanding_.size();
  std::optional<free_region> best;
  int best_unanswered = 0;
  const auto gaps = recvs_.gaps();
  for (std::size_t n = 0, i = turn_; n < gaps.size(); ++n, ++i) {
    if (i >= gaps.size()) i = 0;
    const gap& g = gaps[i];
    if (g.state != gap_state::open) continue;
    const int unanswered = unanswered_[as_size(g.source)];
    if (best && unanswered >= best_unanswered) continue;
    if (starving && !idle && source(g).peer == rank_) continue;
    const auto wanted = idle || starving ? std::optional(free_region{i, g.at, g.length}) : worth_staging(i);
    if (!wanted || !may_request(g, wanted->at)) continue;
    if (!idle && space < limits_.small_chunk && space < wanted->length) continue;
    best = free_region{i, wanted->at, std::min(space, wanted->length)};
    best_unanswered = unanswered;
    if (unanswered == 0) break;
  }
  return best;
}

in_place_step in_place_machine::make_request(const free_region& h, gap_state how) {
  const gap g = recvs_.gaps()[h.gap];
  const int peer = source(g).peer;
  const count_t offset = g.offset + (h.at - g.at);
  count_t to = h.at;
  count_t length = h.length;
  changed_ = true;
  count_t from = 0;
  if (peer == rank_) {  // moves in one piece
    const auto run = sends_.take(peer, offset, length, limits_.sends);
    if (run.length == 0)
      throw usage_error(fmt::format("rank {} sends less to itself than it expects", rank_), MPI_ERR_TRUNCATE, rank_,
                        rank_);
    sends_.release(limits_.sends, run.at);
    from = run.at;
    length = run.length;
    self_left_ -= length;
  }
  count_t aux = 0;
  if (how == gap_state::arriving_staged) {
    aux = aux_.take(length);
    to = aux_location(aux);
    ++staged_;
    turn_ = h.gap + 1;
  }
  const std::size_t i = recvs_.reserve(h.gap, h.at, length, how, aux);
  if (peer == rank_) {
    if (how == gap_state::arriving_staged) {
      recvs_.stage(i, length);
    } else {
      recvs_.fill(i, length);
    }
    open_scratch();
    return {{}, local_move{{from, to, length}}};
  }
  const int slot = free_requests_.back();
  free_requests_.pop_back();
  outstanding_[as_size(slot)] = {h.at, length};
  ++unanswered_[as_size(g.source)];
  if (waited_) ++rounds_;
  waited_ = false;
  return {in_place_request{peer, slot, offset, length, to, source(g).length}, {}};
}

}  // namespace taquin::detail
