#include "algorithms/in_place/in_place_phases_machine.hpp"

#include <algorithm>

namespace taquin::detail {

std::size_t in_place_phases_machine::bytes(const phase_limits& l, std::size_t out, std::size_t in) noexcept {
  return send_set::bytes(phase_limits::segments(out, in)) + aux_heap::bytes(free_runs(in)) +
         array_list::bytes<in_place_phases_machine>(l, out, in);
}

in_place_phases_machine::in_place_phases_machine(std::span<const peer_block> out, std::span<const peer_block> in,
                                                 const phase_limits& limits, std::pmr::memory_resource* memory)
    : out_(out),
      in_(in),
      limits_(limits),
      border_(border_of(out, in)),
      sends_(phase_limits::segments(out.size(), in.size()), memory),
      heap_(free_runs(in.size()), memory),
      parts_(memory),
      sources_(memory),
      requests_(memory),
      sent_(memory) {
  array_list::take(*this, limits, out.size(), in.size());
}

void in_place_phases_machine::reset() {
  sends_.reset(out_, in_);
  heap_.reset(limits_.aux);
  std::ranges::fill(parts_, part{});
  for (std::size_t k = 0; k < in_.size(); ++k) sources_[k] = {in_[k].at, in_[k].length};
  std::ranges::fill(sent_, 0);
  in_phase_ = false;
}

bool in_place_phases_machine::done() const noexcept {
  return sends_.segments().empty() && std::ranges::all_of(sources_, [](const source& s) { return s.left == 0; });
}

// Parts of sources that have no more data would stay unused.
void in_place_phases_machine::divide_aux() {
  if (std::ranges::any_of(parts_, [](const part& p) { return p.live > 0; })) return;
  const auto left = as_size(std::ranges::count_if(sources_, [](const source& s) { return s.left > 0; }));
  const bool few = left < parts_.size();
  in_use_ = few ? std::max<std::size_t>(left, 1) : parts_.size();
  std::size_t next = 0;
  for (std::size_t k = 0; k < sources_.size(); ++k)
    if (sources_[k].left > 0) sources_[k].part = few ? next++ : as_size(in_[k].peer) % parts_.size();
}

count_t in_place_phases_machine::take_aux(std::size_t k, count_t wanted, count_t& at) {
  if (limits_.heap) {
    const count_t n = std::min(wanted, heap_.longest());
    if (n > 0) at = heap_.take(n);
    return n;
  }
  const std::size_t index = sources_[k].part;
  const count_t begin = begin_of_part(index);
  part& p = parts_[index];
  const count_t n = std::min(wanted, begin_of_part(index + 1) - begin - p.used);
  at = begin + p.used;
  p.used += n;
  p.live += n;
  return n;
}

// Units directly after those of source k that are in auxiliary memory.
count_t in_place_phases_machine::extend_aux(std::size_t k, count_t wanted) {
  const count_t end = sources_[k].aux_at - border_ + sources_[k].staged;
  if (limits_.heap) return heap_.take_at(end, wanted);
  const std::size_t index = sources_[k].part;
  part& p = parts_[index];
  if (end != begin_of_part(index) + p.used) return 0;
  const count_t n = std::min(wanted, begin_of_part(index + 1) - end);
  p.used += n;
  p.live += n;
  return n;
}

void in_place_phases_machine::give_back(std::size_t k, count_t at, count_t length) {
  if (limits_.heap) return heap_.give_back(at, length);
  part& p = parts_[sources_[k].part];
  p.live -= length;
  if (p.live == 0) p.used = 0;
}

std::span<const in_place_phases_machine::request> in_place_phases_machine::determine() {
  divide_aux();
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    source& s = sources_[k];
    request& r = requests_[k] = {};
    if (s.left == 0) continue;
    if (s.staged > 0) {  // the data that follow can only be placed after them
      r.aux = extend_aux(k, std::min(s.left - s.staged, limits_.most));
      r.aux_at = s.aux_at + s.staged;
      continue;
    }
    r.at = s.at;
    r.direct = sends_.free_from(s.at, std::min(s.left, limits_.most));
    if (r.direct < limits_.most) {
      r.aux = take_aux(k, std::min(s.left - r.direct, limits_.most), r.aux_at);
      r.aux_at += border_;
    }
  }
  in_phase_ = true;
  return requests_;
}

void in_place_phases_machine::begin_update() {
  sends_.release_all();
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    source& s = sources_[k];
    const request& r = requests_[k];
    s.at += r.direct;
    s.left -= r.direct;
    if (r.aux == 0) continue;
    if (s.staged == 0) s.aux_at = r.aux_at;
    s.staged += r.aux;
  }
  updating_ = 0;
  packing_ = false;
  in_phase_ = false;
}

std::optional<local_move> in_place_phases_machine::next_move() {
  for (; updating_ < sources_.size(); ++updating_, packing_ = false) {
    source& s = sources_[updating_];
    if (s.left == 0) continue;
    if (!packing_) {
      packing_ = true;
      high_ = s.at + s.left;
      segment_ = sends_.first_after(s.at);
      while (segment_ < sends_.segments().size() && sends_.segments()[segment_].at < high_) ++segment_;
    }
    while (segment_ > 0 && sends_.segments()[segment_ - 1].end() > s.at) {
      const segment p = sends_.segments()[--segment_];
      high_ -= p.length;
      if (high_ == p.at) continue;
      sends_.relocate(segment_, high_);
      return local_move{{p.at, high_, p.length}, p.peer};
    }
    segment_ = 0;
    const count_t n = std::min(s.staged, high_ - s.at);
    if (n == 0) continue;
    const local_move home{{s.aux_at, s.at, n}};
    give_back(updating_, s.aux_at - border_, n);
    s.at += n;
    s.left -= n;
    s.staged -= n;
    s.aux_at += n;
    return home;
  }
  return {};
}

}  // namespace taquin::detail
