// cyclic: a root finds cycles and chains of transfers, then all execute them without it.
//
// Source:  Siegel & Siegel, section 2.2 and Fig. 2: a depth-first search of the transmission graph with a few
//          edges of each rank at the root at a time; edges come in and actions go out while it runs, several in a
//          message (buffer_sizes::edges and ::actions: the paper's parameters).
// Rounds:  increments: of each action q/c, where c is the least free space on its cycle. Edges by increasing rank make
//          a transpose a sequence of pairs in dictionary order, at which ranks wait for each other.
// Bytes:   every block once; copies: a sort before every action.
// Memory:  4 bytes per block (a sort), 115 per rank on the root beside what all algorithms take, 83 where memory is
//          short and messages have one edge or action. So the search stops when a rank has as many actions as its list
//          holds, and continues when all ranks have executed theirs.
// Limits:  none: if a rank has no free block an increment is one block, and goes through a staging block.
// Wins:    few long cycles with large weights, such as shifts.
// Kept:    to compare the papers' algorithms with `slots`, the default, which does all that it does.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/sizes.hpp"
#include "redistribute/cost.hpp"
#include "redistribute/cyclic_planner.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/machine.hpp"

namespace taquin::detail {

namespace {

constexpr int root = 0;

/// Messages between root and ranks; the first word.
enum class message_kind : word { edge, more, act, taken, end };

// The edges of one rank, given to the root some at a time, by increasing rank; "to no rank" after the last.
class edge_source {
 public:
  edge_source(const targets& t, int rank, std::size_t together)
      : t_(t), own_(as_size(rank)), ranks_(t.out_at.size() - 1), together_(together) {
    skip();
  }
  /// The next message.
  [[nodiscard]] std::span<const word> next() {
    std::size_t n = 0;
    words_[n++] = static_cast<word>(message_kind::edge);
    for (std::size_t k = 0; k < together_; ++k, ++rank_, skip()) {
      const bool any = rank_ < ranks_;
      words_[n++] = any ? static_cast<word>(rank_) : no_slot;
      words_[n++] = any ? t_.out_at[rank_ + 1] - t_.out_at[rank_] : 0;
      if (!any) break;
    }
    return std::span(words_).first(n);
  }

 private:
  void skip() {
    while (rank_ < ranks_ && (rank_ == own_ || t_.out_at[rank_ + 1] == t_.out_at[rank_])) ++rank_;
  }
  const targets& t_;
  std::size_t own_;
  std::size_t ranks_;
  std::size_t together_;
  std::size_t rank_ = 0;
  std::array<word, 1 + 2 * buffer_sizes::most_edges> words_{};
};

// At the root, of each rank: edges that the search has not used, and actions that are not sent.
class root_queues {
 public:
  root_queues(const buffer_sizes& s, std::pmr::memory_resource* memory)
      : most_(s), of_(memory), edges_(memory), actions_(memory) {}
  /// The edges of a message that the root has requested when it had none left.
  void put(int rank, std::span<const word> edges) {
    counts& q = of_[as_size(rank)];
    q.used = 0;
    q.edges = static_cast<std::uint8_t>(edges.size() / 2);
    for (std::size_t k = 0; k < q.edges; ++k) edge(rank, k) = {edges[2 * k], edges[2 * k + 1]};
  }
  /// Gives the next edge to the search; false if it must be requested.
  bool give(int rank, cyclic_planner& plan) {
    counts& q = of_[as_size(rank)];
    if (q.used == q.edges) return false;
    const outgoing& next = edge(rank, q.used++);
    plan.edge(rank, next.to == no_slot ? -1 : static_cast<int>(next.to), next.weight);
    return true;
  }
  /// Adds an action, and sends the message if it is full.
  void add(int rank, const cyclic_action& a, port& net) {
    counts& q = of_[as_size(rank)];
    action(rank, q.actions++) = a;
    if (q.actions == most_.actions) send(rank, net);
  }
  /// Sends the actions that wait, if there are any.
  void send(int rank, port& net) {
    counts& q = of_[as_size(rank)];
    if (q.actions == 0) return;
    std::array<word, 1 + 4 * buffer_sizes::most_actions> words{static_cast<word>(message_kind::act)};
    std::size_t n = 1;
    for (std::size_t k = 0; k < q.actions; ++k) {
      const cyclic_action& a = action(rank, k);
      for (const word w : {static_cast<word>(a.from), static_cast<word>(a.to), a.blocks, a.increment}) words[n++] = w;
    }
    net.post(rank, std::span(words).first(n));
    q.actions = 0;
  }

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, const buffer_sizes& s) {
    each(&root_queues::of_, ranks);
    each(&root_queues::edges_, ranks * s.edges);
    each(&root_queues::actions_, ranks * s.actions);
  }

 private:
  friend struct array_list;
  struct outgoing {
    word to = no_slot;
    word weight = 0;
  };
  struct counts {
    std::uint8_t edges = 0;
    std::uint8_t used = 0;
    std::uint8_t actions = 0;
  };
  outgoing& edge(int rank, std::size_t k) { return edges_[as_size(rank) * most_.edges + k]; }
  cyclic_action& action(int rank, std::size_t k) { return actions_[as_size(rank) * most_.actions + k]; }

  buffer_sizes most_;
  std::pmr::vector<counts> of_;
  std::pmr::vector<outgoing> edges_;
  std::pmr::vector<cyclic_action> actions_;
};

// The actions of a batch that a rank executes, and the number of each rank's block that arrives next.
struct action_list {
  explicit action_list(std::pmr::memory_resource* memory) : actions(memory), next(memory) {}
  std::pmr::vector<cyclic_action> actions;
  std::pmr::vector<std::uint32_t> next;

  static constexpr std::size_t most(std::size_t ranks) noexcept { return 16 + ranks; }
  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&action_list::actions, at_most{most(ranks)});
    each(&action_list::next, ranks);
  }
};

// Free blocks: published to each rank, and of each rank.
struct free_blocks {
  explicit free_blocks(std::pmr::memory_resource* memory) : own(memory), space(memory) {}
  std::pmr::vector<word> own;
  std::pmr::vector<word> space;

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&free_blocks::own, ranks);
    each(&free_blocks::space, ranks);
  }
};

// Actions that the root has sent to each rank: in this batch, and of all those that it has not acknowledged, at most
// `most`. A rank acknowledges `together` of them with one message.
class reported_actions {
 public:
  reported_actions(std::size_t most, std::pmr::memory_resource* memory) : most_(most), of_(memory) {}
  [[nodiscard]] std::size_t together() const noexcept { return (most_ + 1) / 2; }
  /// No rank can take one more action in this batch.
  [[nodiscard]] bool batch_full() const noexcept { return batch_full_; }
  void begin_batch() noexcept {
    batch_full_ = false;
    for (counts& c : of_) c.in_batch = 0;
  }
  /// Every rank can take one more action.
  [[nodiscard]] bool may() const noexcept { return full_ == 0 && !batch_full_; }
  /// No rank has to acknowledge anything more.
  [[nodiscard]] bool settled() const noexcept { return open_ == 0; }
  void report(int rank) {
    counts& now = of_[as_size(rank)];
    if (++now.in_batch == action_list::most(of_.size())) batch_full_ = true;
    if (++now.unknown == most_) ++full_;
    if (now.unknown == together()) ++open_;
  }
  void taken(int rank) {
    std::uint32_t& now = of_[as_size(rank)].unknown;
    if (now == most_) --full_;
    now -= static_cast<std::uint32_t>(together());
    if (now < together()) --open_;
  }

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks) {
    each(&reported_actions::of_, ranks);
  }

 private:
  friend struct array_list;
  struct counts {
    std::uint32_t in_batch = 0;
    std::uint32_t unknown = 0;
  };
  std::size_t most_, full_ = 0, open_ = 0;  // ranks with `most` actions; ranks that must acknowledge
  bool batch_full_ = false;
  std::pmr::vector<counts> of_;
};

// The schedule, as far as this rank has it: the root has more.
struct cyclic_schedule {
  cyclic_schedule(machine& m, const targets& t, const free_blocks& free)
      : edges(t, m.rank, m.sizes.edges),
        plan(m.rank == root ? std::span<const word>(free.space) : std::span<const word>(), m.memory),
        reported(m.sizes.per_peer, m.memory),
        queues(m.sizes, m.memory),
        mine(m.memory) {
    array_list::take(reported, m.rank == root ? as_size(m.ranks) : 0);
    array_list::take(queues, m.rank == root ? as_size(m.ranks) : 0, m.sizes);
    array_list::take(mine, as_size(m.ranks));
    std::copy_n(t.in_at.begin(), mine.next.size(), mine.next.begin());
  }
  static std::size_t bytes(const table_sizes& s) noexcept {
    return array_list::bytes<cyclic_planner>(s.ranks) + array_list::bytes<reported_actions>(s.ranks) +
           array_list::bytes<root_queues>(s.ranks, s.buffers) + array_list::bytes<action_list>(s.ranks);
  }

  edge_source edges;
  cyclic_planner plan;
  reported_actions reported;
  root_queues queues;
  action_list mine;
  std::size_t received = 0;  // actions
  bool started = false;
  bool last = false;  // this batch
};

std::size_t bytes_of_cyclic(const table_sizes& s) noexcept {
  return cyclic_schedule::bytes(s) + array_list::bytes<free_blocks>(s.ranks) +
         std::max(targets::order_bytes(s), block_map::sort_bytes(s.slots(), s.ranks));  // beside one list of places
}

// The root searches as far as the edges that it has, the acknowledgements and the lists allow. At the end of the search
// or of a batch it notifies all ranks.
void search(machine& m, cyclic_schedule& s) {
  s.plan.search([&] { return s.reported.may(); },
                [&](int rank, const cyclic_action& a) {
                  s.reported.report(rank);
                  s.queues.add(rank, a, *m.net);
                },
                [&](int rank) {
                  if (!s.queues.give(rank, s.plan))
                    m.net->post(rank, std::array<word, 1>{static_cast<word>(message_kind::more)});
                });
  for (int r = 0; r < m.ranks; ++r) s.queues.send(r, *m.net);
  const bool done = s.plan.done();
  if (!(done || (s.reported.batch_full() && s.plan.quiet())) || !s.reported.settled()) return;
  for (int r = 0; r < m.ranks; ++r)
    m.net->post(r, std::array<word, 2>{static_cast<word>(message_kind::end), static_cast<word>(done)});
}

// The first stage: the schedule, or the next batch of it.
task extend_schedule(machine& m, cyclic_schedule& s) {
  const auto report_root = [&](const auto& words) { m.net->post(root, words); };
  if (!std::exchange(s.started, true)) {
    report_root(s.edges.next());
  } else {
    std::array<std::uint64_t, 1> nothing{};
    co_await m.net->sum(nothing);  // no rank executes actions any more
    s.mine.actions.clear();
    s.reported.begin_batch();
    if (m.rank == root) search(m, s);
  }
  for (bool going = true; going;) {
    const event e = co_await m.net->next();
    switch (static_cast<message_kind>(e.words[0])) {
      case message_kind::edge:
        s.queues.put(e.peer, e.words.subspan(1));
        s.queues.give(e.peer, s.plan);
        search(m, s);
        break;
      case message_kind::taken:
        s.reported.taken(e.peer);
        search(m, s);
        break;
      case message_kind::more:
        report_root(s.edges.next());
        break;
      case message_kind::act:
        for (std::span<const word> a = e.words.subspan(1); !a.empty(); a = a.subspan(4)) {
          s.mine.actions.push_back({static_cast<int>(a[0]), static_cast<int>(a[1]), a[2], a[3]});
          if (++s.received % s.reported.together() == 0)
            report_root(std::array<word, 1>{static_cast<word>(message_kind::taken)});
        }
        break;
      case message_kind::end:
        s.last = e.words[1] != 0;
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
  slot free_region = live;
  const bool extra = free_region >= m.staging();  // then increments are single blocks
  for (slot done = 0; done < a.blocks; done += a.increment) {
    const slot n = std::min(a.increment, a.blocks - done);
    int pending = 0;
    if (a.from >= 0) {
      for (slot k = 0; k < n; ++k) map.expect(free_region + k, {m.rank, indices[done + k]});
      m.net->receive(a.from, unit_run{free_region, n}, 0);
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
    free_region = a.to >= 0 ? first + done : free_region + n;
    ++m.rounds;
  }
  if (extra && a.from >= 0 && a.to >= 0) map.move(live, free_region);
}

task run_cyclic(machine& m) {
  targets learned(m.memory);
  if (m.known == nullptr) co_await learn_sources(m, learned);
  targets& t = m.known != nullptr ? *m.known : learned;
  t.list_places();
  free_blocks free(m.memory);
  array_list::take(free, as_size(m.ranks));
  slot live = 0;
  for (slot s = 0; s < m.map->slots(); ++s) live += m.map->free(s) ? 0 : 1;
  free.own[root] = m.blocks() - live;
  co_await m.net->alltoall(free.own, free.space);
  cyclic_schedule s(m, t, free);
  while (!s.last) {
    co_await extend_schedule(m, s);
    for (const cyclic_action& a : s.mine.actions) {
      std::span<const slot> indices;
      if (a.from >= 0) {
        auto& at = s.mine.next[as_size(a.from)];
        indices = std::span(t.order).subspan(at, a.blocks);
        at += a.blocks;
      }
      co_await execute(m, a, indices);
    }
  }
}

// Each action uses up about one edge of each rank on its cycle, and ranks with several edges wait for each other as in
// the dictionary order. The rests of edges of different weights make further cycles, which are longer.
seconds cost_of_cyclic(const redistribution_load& l, const machine_model& m) noexcept {
  const redistribution_terms t(l, m);
  if (l.peers <= 0) return t.targets(0);
  const double edges = std::ceil((l.peers + 1) / l.buffers.edges);
  const double at_root = l.ranks * (2 * edges + l.peers + 1);
  const double quantity = l.leaving / l.peers;
  const bool even = std::abs(quantity - std::round(quantity)) < 1e-9;
  const double increment = std::clamp(l.free, 1.0, std::max(quantity, 1.0));
  const double turns = (l.peers > 1 ? 2 * l.peers : 1) * (even ? 1 : 1 + t.log_rounds() / 2);
  return t.targets(l.leaving) + t.control(1, at_root, 5) + t.control(2 * edges, 1, 5) +
         t.transfer(turns * std::ceil(quantity / increment), 1, increment) + t.copies((turns / 2 + 1) * l.blocks / 2);
}

}  // namespace

const redistribution_algorithm cyclic_redistribution{
    .name = "cyclic",
    .summary = "a root finds cycles and chains of transfers, which are then executed without it",
    .source = "Siegel & Siegel 2.2",
    .rounds = "increments of actions",
    .memory = bytes_of_cyclic,
    .run = run_cyclic,
    .cost = cost_of_cyclic,
};

}  // namespace taquin::detail
