// cyclic: a root finds cycles and chains of transfers, then all execute them without it.
//
// Source:  Siegel & Siegel, section 2.2 and Fig. 2: a depth-first search of the transmission graph with one edge per
//          rank at the root at a time; edges come in and actions go out while it runs.
// Rounds:  increments: of each action q/c, where c is the least free space on its cycle. Edges by increasing rank make
//          a transpose a sequence of pairs in dictionary order, at which ranks wait for each other.
// Bytes:   every block once; copies: a sort before every action.
// Memory:  36 bytes per block (the schedule and a sort), 48 per rank on the root beside what all algorithms take.
// Limits:  none: if a rank has no free block an increment is one block, and goes through a staging block.
// Wins:    few long cycles with large weights, such as shifts.
// Kept:    to compare the papers' algorithms with `slots`, the default, which does all that it does.
#include <algorithm>
#include <array>

#include "base/sizes.hpp"
#include "redistribute/cyclic_planner.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

namespace {

constexpr int root = 0;

/// Messages between root and ranks; the first word.
enum class note : word { edge, more, act, taken, end };

// The edges of one rank, given to the root one at a time.
class edge_source {
 public:
  explicit edge_source(const targets& t) : t_(t), ranks_(t.out_at.size() - 1) { skip(); }
  [[nodiscard]] std::array<word, 3> next() {
    std::array<word, 3> words{static_cast<word>(note::edge), no_slot, 0};
    if (rank_ < ranks_) {
      words[1] = static_cast<word>(rank_);
      words[2] = t_.out_at[rank_ + 1] - t_.out_at[rank_];
      ++rank_;
      skip();
    }
    return words;
  }

 private:
  void skip() {
    while (rank_ < ranks_ && t_.out_at[rank_ + 1] == t_.out_at[rank_]) ++rank_;
  }
  const targets& t_;
  std::size_t ranks_;
  std::size_t rank_ = 0;
};

// The action that a rank executes, and how many of each rank's blocks have arrived.
struct action_list {
  explicit action_list(std::pmr::memory_resource* memory) : actions(memory), got(memory) {}
  std::pmr::vector<cyclic_action> actions;
  std::pmr::vector<std::uint32_t> got;

  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&action_list::actions, at_most{s.outgoing + s.incoming});
    each(&action_list::got, s.ranks);
  }
};

// Free blocks: published to each rank, and of each rank.
struct free_blocks {
  explicit free_blocks(std::pmr::memory_resource* memory) : own(memory), room(memory) {}
  std::pmr::vector<word> own;
  std::pmr::vector<word> room;

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&free_blocks::own, ranks);
    each(&free_blocks::room, ranks);
  }
};

// Actions that the root has sent to each rank and the rank has not acknowledged: at most `most` per rank. A rank
// acknowledges `together` of them with one message.
class told_actions {
 public:
  told_actions(std::size_t most, std::pmr::memory_resource* memory) : most_(most), of_(memory) {}
  [[nodiscard]] std::size_t together() const noexcept { return (most_ + 1) / 2; }
  /// Every rank can take one more action.
  [[nodiscard]] bool may() const noexcept { return full_ == 0; }
  /// No rank has to acknowledge anything more.
  [[nodiscard]] bool settled() const noexcept { return open_ == 0; }
  void tell(int rank) {
    const std::size_t now = ++of_[as_size(rank)];
    if (now == most_) ++full_;
    if (now == together()) ++open_;
  }
  void taken(int rank) {
    std::uint32_t& now = of_[as_size(rank)];
    if (now == most_) --full_;
    now -= static_cast<std::uint32_t>(together());
    if (now < together()) --open_;
  }

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&told_actions::of_, ranks);
  }

 private:
  friend struct array_list;
  std::size_t most_, full_ = 0, open_ = 0;  // ranks with `most` actions; ranks that must acknowledge
  std::pmr::vector<std::uint32_t> of_;
};

std::size_t bytes(const table_sizes& s) noexcept {
  const std::size_t planning = array_list::bytes<free_blocks>(s.ranks) + array_list::bytes<cyclic_planner>(s.ranks) +
                               array_list::bytes<told_actions>(s.ranks);
  return array_list::bytes<action_list>(s) + std::max(planning, block_map::sort_bytes(s.slots(), s.ranks));
}

// The root searches as far as the edges that it has and the acknowledgements allow. At the end of the search it
// notifies all ranks.
void search(machine& m, cyclic_planner& plan, told_actions& told) {
  const auto tell = [&](int to, const auto& words) { m.net->post(to, words); };
  plan.search([&] { return told.may(); },
              [&](int rank, const cyclic_action& a) {
                told.tell(rank);
                tell(rank, std::array<word, 5>{static_cast<word>(note::act), static_cast<word>(a.from),
                                               static_cast<word>(a.to), a.blocks, a.increment});
              },
              [&](int rank) { tell(rank, std::array<word, 1>{static_cast<word>(note::more)}); });
  if (!plan.done() || !told.settled()) return;
  for (int r = 0; r < m.ranks; ++r) tell(r, std::array<word, 1>{static_cast<word>(note::end)});
}

// The first stage: the schedule.
task make_schedule(machine& m, const targets& t, action_list& mine) {
  edge_source edges(t);
  const auto tell_root = [&](const auto& words) { m.net->post(root, words); };
  free_blocks free(m.memory);
  array_list::take(free, as_size(m.ranks));
  slot live = 0;
  for (slot s = 0; s < m.map->slots(); ++s) live += m.map->free(s) ? 0 : 1;
  free.own[root] = m.blocks() - live;
  co_await m.net->alltoall(free.own, free.room);
  cyclic_planner plan(m.rank == root ? std::span<const word>(free.room) : std::span<const word>(), m.memory);
  told_actions told(m.sizes.per_peer, m.memory);
  array_list::take(told, m.rank == root ? as_size(m.ranks) : 0);
  tell_root(edges.next());
  for (bool going = true; going;) {
    const event e = co_await m.net->next();
    switch (static_cast<note>(e.words[0])) {
      case note::edge:
        plan.edge(e.peer, e.words[1] == no_slot ? -1 : static_cast<int>(e.words[1]), e.words[2]);
        search(m, plan, told);
        break;
      case note::taken:
        told.taken(e.peer);
        search(m, plan, told);
        break;
      case note::more:
        tell_root(edges.next());
        break;
      case note::act:
        mine.actions.push_back({static_cast<int>(e.words[1]), static_cast<int>(e.words[2]), e.words[3], e.words[4]});
        if (mine.actions.size() % told.together() == 0) tell_root(std::array<word, 1>{static_cast<word>(note::taken)});
        break;
      case note::end:
        going = false;
        break;
    }
  }
}

// One action. Increments are received into free space first, then into what the last increment left.
task execute(machine& m, const cyclic_action& a, std::span<const slot> indices) {
  block_map& map = *m.map;
  co_await sort_by_rank(m);
  slot first = 0;
  slot live = 0;
  for (slot s = 0; !map.free(s); ++s, ++live)
    if (map[s].rank < a.to) ++first;
  slot hole = live;
  const bool extra = hole >= m.staging();  // then increments are single blocks
  for (slot done = 0; done < a.blocks; done += a.increment) {
    const slot n = std::min(a.increment, a.blocks - done);
    int pending = 0;
    if (a.from >= 0) {
      for (slot k = 0; k < n; ++k) map.expect(hole + k, {m.rank, indices[done + k]});
      m.net->receive(a.from, unit_run{hole, n}, 0);
      ++pending;
    }
    const unit_run leaving{first + done, n};
    if (a.to >= 0) {
      if (m.net->send(a.to, leaving, 0)) {
        map.clear(leaving);
      } else {
        ++pending;
      }
    }
    for (; pending > 0; --pending) m.settle(co_await m.net->next());
    hole = a.to >= 0 ? first + done : hole + n;
    ++m.rounds;
  }
  if (extra && a.from >= 0 && a.to >= 0) map.move(live, hole);
}

task run_cyclic(machine& m) {
  targets learned(m.memory);
  if (m.known == nullptr) co_await exchange_targets(m, learned);
  const targets& t = m.known != nullptr ? *m.known : learned;
  action_list mine(m.memory);
  array_list::take(mine, m.tables(t));
  co_await make_schedule(m, t, mine);
  std::copy_n(t.in_at.begin(), mine.got.size(), mine.got.begin());
  for (const cyclic_action& a : mine.actions) {
    std::span<const slot> indices;
    if (a.from >= 0) {
      auto& at = mine.got[as_size(a.from)];
      indices = std::span(t.index).subspan(at, a.blocks);
      at += a.blocks;
    }
    co_await execute(m, a, indices);
  }
}

}  // namespace

const redistribution_algorithm cyclic_redistribution{
    .name = "cyclic",
    .summary = "a root finds cycles and chains of transfers, which are then executed without it",
    .source = "Siegel & Siegel 2.2",
    .rounds = "increments of actions",
    .memory = bytes,
    .run = run_cyclic,
};

}  // namespace taquin::detail
