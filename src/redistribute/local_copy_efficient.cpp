// local_copy_efficient: any free slot takes any block, and one permutation at the end puts all right.
//
// Source:  independent. The literature names an algorithm of this name and says of it that it makes few local copies,
//          always completes and is fast in most cases; this one is built to have the same properties, not from any
//          description of that one.
// Rounds:  none in common: a rank asks its sources in turn for as many blocks as it has free slots in a row.
// Bytes:   every block once, straight to its rank. Copies: packing where a message's blocks are not in a row, and at
//          most one copy of each block (and one more per cycle) in the permutation at the end; never a sort.
// Memory:  8 bytes per block and per rank beside what all algorithms take.
// Limits:  none: staging blocks stand in for free slots; the count of blocks that proves `slots` to end holds here.
// Wins:    where blocks go to their ranks in no order that free slots could follow.
// Kept:    to compare its properties, which the papers name, with `slots`, the default, which does all that it does.
#include <algorithm>
#include <array>

#include "base/sizes.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

namespace {

class first_come {
 public:
  first_come(machine& m, const targets& t)
      : m_(m),
        t_(t),
        next_(m.memory),
        length_(m.memory),
        asked_(m.memory),
        told_(m.memory),
        into_(m.memory),
        under_way_(m.memory),
        runs_(m.memory),
        source_((m.rank + 1) % m.ranks),
        unsent_(t.out_at.back()),
        expected_(t.in_at.back()) {
    array_list::take(*this, m.tables(t));
    std::ranges::fill(next_, no_slot);
    std::copy_n(t.in_at.begin(), asked_.size(), asked_.begin());
    std::copy_n(t.out_at.begin(), told_.size(), told_.begin());
    const block_map& map = *m.map;
    for (slot s = 0; s < m.spare(); ++s) {
      slot_range gap{s, 0};
      while (s < m.spare() && map.free(s) && (s != m.staging() || gap.count == 0)) ++s, ++gap.count;
      if (gap.count > 0) --s, give(gap);
    }
    ask();
  }

  static std::size_t bytes(const table_sizes& s) noexcept { return array_list::bytes<first_come>(s); }

  [[nodiscard]] bool done() const noexcept { return unsent_ == 0 && expected_ == 0; }

  void handle(const event& e) {
    switch (e.what) {
      case event::kind::message:
        serve(e.peer, e.words[0]);
        break;
      case event::kind::arrived:
        m_.map->came(into_[e.id].units());
        expected_ -= into_[e.id].count;
        into_[e.id] = {};
        --flying_;
        --under_way_[as_size(e.peer)];
        break;
      case event::kind::sent:
        left({static_cast<slot>(e.units.at), static_cast<slot>(e.units.length)});
        break;
      case event::kind::fetched:
      case event::kind::taken:
      case event::kind::quiet:
        break;
    }
    ask();
  }

 private:
  // Free slots, to the end of the queue.
  void give(const slot_range& gap) {
    length_[gap.first] = gap.count;
    next_[gap.first] = no_slot;
    (head_ == no_slot ? head_ : next_[tail_]) = gap.first;
    tail_ = gap.first;
  }

  slot_range take(slot most) {
    const slot first = head_;
    const slot n = std::min(length_[first], most);
    if (n == length_[first]) {
      head_ = next_[first];
    } else {
      head_ = first + n;
      length_[head_] = length_[first] - n;
      next_[head_] = next_[first];
      if (tail_ == first) tail_ = head_;
    }
    return {first, n};
  }

  void ask() {
    for (int idle = 0; idle < m_.ranks && flying_ < into_.size() && head_ != no_slot;
         source_ = (source_ + 1) % m_.ranks) {
      const auto s = as_size(source_);
      const std::uint32_t left = t_.in_at[s + 1] - asked_[s];
      if (left == 0 || under_way_[s] >= m_.sizes.per_peer) {
        ++idle;
        continue;
      }
      idle = 0;
      const slot_range gap = take(std::min(left, m_.sizes.chunk));
      for (slot k = 0; k < gap.count; ++k) m_.map->expect(gap.first + k, {m_.rank, t_.index[asked_[s]++]});
      const auto id = static_cast<std::uint32_t>(
          std::ranges::find(into_, 0U, [](const slot_range& r) { return r.count; }) - into_.begin());
      into_[id] = gap;
      ++flying_;
      ++under_way_[s];
      ++m_.rounds;
      m_.net->receive(source_, gap.units(), id);
      const std::array<word, 1> request{gap.count};
      m_.net->post(source_, request);
    }
  }

  void serve(int peer, word count) {
    auto& k = told_[as_size(peer)];
    runs_.clear();
    for (; count > 0; --count) append(runs_, t_.order[k++], m_.staging());
    if (m_.net->send(peer, runs_, 0))
      for (const unit_run& gone : runs_) left({static_cast<slot>(gone.at), static_cast<slot>(gone.length)});
  }

  void left(const slot_range& gone) {
    unsent_ -= gone.count;
    m_.map->clear(gone.units());
    give(gone);
  }

  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&first_come::next_, s.slots());
    each(&first_come::length_, s.slots());
    each(&first_come::asked_, s.ranks);
    each(&first_come::told_, s.ranks);
    each(&first_come::into_, std::size_t{s.buffers.requests});
    each(&first_come::under_way_, s.ranks);
    each(&first_come::runs_, at_most{s.buffers.chunk});
  }

  machine& m_;
  const targets& t_;
  std::pmr::vector<slot> next_;    // of the first slot of a free run: the next run
  std::pmr::vector<slot> length_;  // of the first slot of a free run
  std::pmr::vector<std::uint32_t> asked_;
  std::pmr::vector<std::uint32_t> told_;
  std::pmr::vector<slot_range> into_;
  std::pmr::vector<std::uint32_t> under_way_;  // requests, by rank
  std::pmr::vector<unit_run> runs_;
  slot head_ = no_slot;
  slot tail_ = no_slot;
  int source_;
  std::uint32_t flying_ = 0;
  std::uint64_t unsent_;
  std::uint64_t expected_;
};

task run_local_copy_efficient(machine& m) {
  targets mine(m.memory);
  if (m.known == nullptr) co_await exchange_targets(m, mine);
  first_come engine(m, m.known != nullptr ? *m.known : mine);
  while (!engine.done()) {
    const event e = co_await m.net->next();
    engine.handle(e);
  }
}

}  // namespace

const redistribution_algorithm local_copy_efficient_redistribution{
    .name = "local_copy_efficient",
    .summary = "any free slot takes any block; one permutation at the end (independent of the algorithm of that name)",
    .source = "independent",
    .rounds = "no common rounds",
    .memory = first_come::bytes,
    .run = run_local_copy_efficient,
};

}  // namespace taquin::detail
