#include "simulation/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/sizes.hpp"
#include "schedule/walk.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {

namespace {

/// The earliest of the ports passes a message that is there at `ready`; returns when it is done.
seconds take_port(std::vector<seconds>& ports, seconds ready, const message_cost& m) {
  auto port = std::ranges::min_element(ports);
  const seconds begin = std::max(*port, ready);
  *port = begin + m.gap;
  return begin + m.port;
}

/// One rank's, or those that a node's ranks share: when each is free.
struct port_set {
  std::vector<seconds> out;
  std::vector<seconds> in;
};

/// A message as its receiver sees it.
struct arrival {
  seconds done = 0;  // when its last byte arrives
  seconds receiver = 0;
};

/// A message that is posted: when it can be completed, and the cost of that.
struct completion {
  seconds ready = 0;
  std::uint32_t message = 0;
  seconds receiver = 0;
  bool operator>(const completion& other) const noexcept {
    return std::tie(ready, message) > std::tie(other.ready, other.message);
  }
};

template <class T>
using earliest_first = std::priority_queue<T, std::vector<T>, std::greater<>>;

struct rank_state {
  explicit rank_state(const schedule& s) : position(s) {}
  walk position;
  std::size_t node = 0;
  std::size_t arrivals = 0;
  seconds cpu = 0;                   // core free from here
  earliest_first<completion> ready;  // completions that are known
  port_set ports;                    // within the node
};

/// An event: a rank continues, or a message's first byte reaches its receiver's port.
struct rank_event {
  seconds time = 0;
  std::uint64_t order = 0;
  std::size_t rank = 0;
  std::size_t from = 0;
  std::uint8_t tag = 0;
  bool arrives = false;
  message_cost cost{};
  count_t bytes = 0;
  bool operator>(const rank_event& other) const noexcept {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

/// Messages of one sender, receiver and tag match in order.
struct pair_channel {
  std::vector<arrival> arrived;        // no receive is posted yet
  std::vector<std::uint32_t> awaited;  // receives that are posted
};

/// The arrivals of a node's ranks: how many ranks have made each arrival, and when the last of them did.
struct barrier {
  std::size_t ranks = 0;
  seconds time = 0;
};
struct node {
  port_set ports;                  // to other nodes
  std::vector<std::size_t> ranks;  // of schedules with arrivals
  std::vector<barrier> barriers;
};

constexpr seconds endless = std::numeric_limits<seconds>::infinity();

/// Events in the order of time, so that ports serve messages in the order of arrival.
class evaluation {
 public:
  evaluation(std::span<const schedule* const> ranks, const machine_model& model, std::span<const int> node_of,
             const std::function<void(const transfer&)>& seen)
      : ranks_(ranks), model_(model), seen_(seen) {
    const auto ports = as_size(std::max(model.ports, 1));
    const port_set free{std::vector<seconds>(ports), std::vector<seconds>(ports)};
    states_.reserve(ranks.size());
    for (const int n : node_of) nodes_.resize(std::max(nodes_.size(), as_size(n) + 1));
    if (nodes_.empty()) nodes_.resize(1);
    for (node& n : nodes_) n.ports = free;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      states_.emplace_back(*ranks[i]);
      states_[i].node = node_of.empty() ? 0 : as_size(node_of[i]);
      states_[i].ports = free;
      join_node(i);
      go_on(i, 0);
    }
  }

  std::vector<seconds> run() {
    while (!events_.empty()) {
      const rank_event e = events_.top();
      events_.pop();
      if (e.arrives) {
        arrive(e);
      } else {
        advance(e.rank, e.time);
      }
    }
    std::vector<seconds> ends;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (!states_[i].position.at_end())
        throw simulated_error(fmt::format("deadlock: rank {} does not leave round {}", i, states_[i].position.round()));
      ends.push_back(states_[i].cpu);
    }
    return ends;
  }

 private:
  [[nodiscard]] bool inside(std::size_t a, std::size_t b) const noexcept { return states_[a].node == states_[b].node; }

  // A rank's, to and from one of its peers.
  port_set& ports_for(std::size_t rank, std::size_t peer) noexcept {
    return inside(rank, peer) ? states_[rank].ports : nodes_[states_[rank].node].ports;
  }

  void go_on(std::size_t rank, seconds when) { events_.push({.time = when, .order = order_++, .rank = rank}); }

  // The node whose ranks wait for each other; only schedules with shared memory have such waits.
  void join_node(std::size_t rank) {
    const auto counts = [](const round& r) { return r.arrives || r.awaits > 0; };
    if (std::ranges::none_of(ranks_[rank]->rounds, counts)) return;
    nodes_[states_[rank].node].ranks.push_back(rank);
  }

  // When all ranks of the node have made the arrivals that the rank's round waits for; endless: not yet.
  [[nodiscard]] seconds begin_of_round(std::size_t rank) const {
    const int awaits = states_[rank].position.now().awaits;
    if (awaits <= 0) return 0;
    const node& n = nodes_[states_[rank].node];
    const auto last = as_size(awaits) - 1;
    if (last < n.barriers.size() && n.barriers[last].ranks == n.ranks.size()) return n.barriers[last].time;
    return endless;
  }

  void arrive_in_node(std::size_t rank) {
    rank_state& st = states_[rank];
    node& n = nodes_[st.node];
    if (n.barriers.size() == st.arrivals) n.barriers.emplace_back();
    barrier& b = n.barriers[st.arrivals++];
    b.time = std::max(b.time, st.cpu);
    if (++b.ranks < n.ranks.size()) return;
    for (const std::size_t other : n.ranks) go_on(other, std::max(states_[other].cpu, b.time));
  }

  [[nodiscard]] std::size_t between(std::size_t from, std::size_t to, std::uint8_t tag) const noexcept {
    return (from * ranks_.size() + to) * 256 + tag;
  }

  // A message and its receive match, whichever is first; true when the other one was there already.
  template <class Mine, class Other>
  bool match(std::size_t key, std::vector<Mine> pair_channel::*mine, const Mine& what,
             std::vector<Other> pair_channel::*theirs, Other& other) {
    pair_channel& c = channels_[key];
    auto& waiting = c.*theirs;
    if (waiting.empty()) {
      (c.*mine).push_back(what);
      return false;
    }
    other = waiting.front();
    waiting.erase(waiting.begin());
    if (waiting.empty()) channels_.erase(key);
    return true;
  }

  // Core time of gathering or scattering a message of several runs.
  seconds pack_time(std::size_t rank, const message& m) const {
    const schedule& s = *ranks_[rank];
    if (m.regions == 1 && s.regions[m.first_region].repeat == 1) return 0;
    seconds sum = 0;
    for (std::uint32_t k = 0; k < m.regions; ++k) {
      const region& r = s.regions[m.first_region + k];
      sum += r.repeat * model_.pack.time(s.bytes(r) / r.repeat);
    }
    return sum * model_.ranks_per_core;
  }

  void post(std::size_t rank, std::uint32_t index) {
    rank_state& st = states_[rank];
    const message& m = ranks_[rank]->messages[index];
    const auto peer = as_size(m.peer);
    if (m.direction == message_direction::recv) {
      arrival a;
      if (match(between(peer, rank, m.tag), &pair_channel::awaited, index, &pair_channel::arrived, a))
        st.ready.push({a.done, index, a.receiver});
      return;
    }
    st.cpu += pack_time(rank, m);
    const count_t bytes = ranks_[rank]->bytes(m);
    const message_cost cost = model_.cost(inside(rank, peer) ? 0 : 1, bytes);
    st.cpu += cost.sender;
    const seconds sent = take_port(ports_for(rank, peer).out, st.cpu, cost);
    st.ready.push({sent, index, 0});
    events_.push({.time = sent - cost.port + cost.latency,
                  .order = order_++,
                  .rank = peer,
                  .from = rank,
                  .tag = m.tag,
                  .arrives = true,
                  .cost = cost,
                  .bytes = bytes});
  }

  // The first byte is there; the receiver's port transfers the rest.
  void arrive(const rank_event& e) {
    rank_state& st = states_[e.rank];
    const arrival a{take_port(ports_for(e.rank, e.from).in, e.time, e.cost), e.cost.receiver};
    const seconds out = e.time - e.cost.latency;
    if (seen_)
      seen_({static_cast<int>(e.from),
             static_cast<int>(e.rank),
             e.bytes,
             {out, out + e.cost.port},
             {a.done - e.cost.port, a.done}});
    std::uint32_t index = 0;
    if (!match(between(e.from, e.rank, e.tag), &pair_channel::arrived, a, &pair_channel::awaited, index)) return;
    st.ready.push({a.done, index, a.receiver});
    go_on(e.rank, std::max(st.cpu, a.done));
  }

  void post_more(std::size_t rank, std::size_t lane) {
    states_[rank].position.post(lane, [&](std::uint32_t i) { post(rank, i); });
  }

  void enter(std::size_t rank) {
    rank_state& st = states_[rank];
    const schedule& s = *ranks_[rank];
    st.position.enter();
    for (std::size_t k = 0; k < st.position.lanes(); ++k) post_more(rank, k);
    const auto [first, end] = s.copies_of(st.position.round());
    for (std::uint32_t i = first; i < end; ++i) {
      const region& from = s.copies[i].from;
      st.cpu += from.repeat * model_.copy.time(s.bytes(from) / from.repeat) * model_.ranks_per_core;
    }
  }

  // A rank that has waited for others, by messages or by the node's arrivals, has lost time by it.
  void leave(std::size_t rank) {
    rank_state& st = states_[rank];
    const round& r = st.position.now();
    if (!r.joins && st.position.requests() > 0) st.cpu += model_.wait;
    st.position.leave();
    if (r.arrives) arrive_in_node(rank);
    go_on(rank, st.cpu);
  }

  // One step of a rank: it enters a round, completes a message, or leaves the round.
  void advance(std::size_t rank, seconds now) {
    rank_state& st = states_[rank];
    if (st.position.at_end() || now < st.cpu) return;
    if (!st.position.entered()) {
      const seconds begin = begin_of_round(rank);
      if (begin == endless) return;  // an arrival wakes it
      if (begin > now) return go_on(rank, begin);
      st.cpu = now + (st.position.now().awaits > 0 ? model_.wait : 0);
      enter(rank);
      return go_on(rank, st.cpu);
    }
    st.cpu = now;
    if (st.position.done()) return leave(rank);
    if (st.ready.empty()) return;  // a message wakes it
    const completion c = st.ready.top();
    if (c.ready > now) return go_on(rank, c.ready);
    st.ready.pop();
    const message& m = ranks_[rank]->messages[c.message];
    if (m.direction == message_direction::recv) st.cpu += c.receiver + pack_time(rank, m);
    const std::size_t lane = st.position.lane_of(m);
    st.position.complete(lane);
    post_more(rank, lane);
    go_on(rank, st.cpu);
  }

  std::span<const schedule* const> ranks_;
  const machine_model& model_;
  const std::function<void(const transfer&)>& seen_;
  std::vector<rank_state> states_;
  std::vector<node> nodes_;
  std::unordered_map<std::size_t, pair_channel> channels_;
  earliest_first<rank_event> events_;
  std::uint64_t order_ = 0;
};

}  // namespace

std::vector<seconds> evaluate(std::span<const schedule* const> ranks, const machine_model& model,
                              std::span<const int> node_of, const std::function<void(const transfer&)>& seen) {
  return evaluation(ranks, model, node_of, seen).run();
}

seconds evaluate_slowest(std::span<const schedule* const> ranks, const machine_model& model,
                         std::span<const int> node_of) {
  const auto ends = evaluate(ranks, model, node_of);
  return ends.empty() ? 0 : *std::ranges::max_element(ends);
}

}  // namespace taquin::detail
