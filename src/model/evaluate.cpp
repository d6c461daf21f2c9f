#include "model/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedule/simulated.hpp"

namespace taquin::detail {

namespace {

/// The earliest of a rank's ports, taken for `busy` seconds from `ready` on; returns when it is done.
seconds take_port(std::vector<seconds>& ports, seconds ready, seconds busy) {
  auto port = std::ranges::min_element(ports);
  *port = std::max(*port, ready) + busy;
  return *port;
}

/// A message as its receiver sees it.
struct arrival {
  seconds done = 0;  // when its last byte is there
  seconds receiver = 0;
};

/// A message that is posted: when it can be completed, and what that takes.
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

/// A lane of the current round; a round without lanes is one lane whose messages form no stages.
struct lane_state {
  std::uint32_t next = 0;
  std::uint32_t end = 0;
  std::uint32_t pending = 0;
};

struct rank_state {
  std::size_t round = 0;
  bool entered = false;  // its first messages are posted and its copies done
  std::uint32_t pending = 0;
  seconds cpu = 0;  // processor free from here
  std::vector<lane_state> lanes;
  earliest_first<completion> ready;  // completions that are known
  std::vector<seconds> out;          // ports
  std::vector<seconds> in;
};

/// What happens next: a rank goes on, or a message's first byte reaches its receiver's port.
struct event {
  seconds time = 0;
  std::uint64_t order = 0;
  std::size_t rank = 0;
  std::size_t from = 0;
  std::uint8_t lane = 0;
  bool arrives = false;
  message_cost cost{};
  bool operator>(const event& other) const noexcept {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

/// Messages of one sender, receiver and lane match in order.
struct channel {
  std::vector<arrival> arrived;        // no receive is posted yet
  std::vector<std::uint32_t> awaited;  // receives that are posted
};

/// Events in the order of time, so that who comes first is served first.
class evaluation {
 public:
  evaluation(std::span<const schedule* const> ranks, const machine_model& model,
             const std::function<int(int, int)>& level)
      : ranks_(ranks), model_(model), level_(level), states_(ranks.size()) {
    const auto ports = static_cast<std::size_t>(std::max(model.ports, 1));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      states_[i].out.assign(ports, 0);
      states_[i].in.assign(ports, 0);
      go_on(i, 0);
    }
  }

  std::vector<seconds> run() {
    while (!events_.empty()) {
      const event e = events_.top();
      events_.pop();
      if (e.arrives) {
        arrive(e);
      } else {
        advance(e.rank, e.time);
      }
    }
    std::vector<seconds> ends;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (states_[i].round < ranks_[i]->rounds.size())
        throw simulated_error(fmt::format("deadlock: rank {} does not leave round {}", i, states_[i].round));
      ends.push_back(states_[i].cpu);
    }
    return ends;
  }

 private:
  void go_on(std::size_t rank, seconds when) { events_.push({.time = when, .order = order_++, .rank = rank}); }

  [[nodiscard]] std::size_t between(std::size_t from, std::size_t to, std::uint8_t lane) const noexcept {
    return (from * ranks_.size() + to) * 256 + lane;
  }

  // A message and its receive meet, whichever comes first; true when the other one was there already.
  template <class Mine, class Other>
  bool meet(std::size_t key, std::vector<Mine> channel::*mine, const Mine& what, std::vector<Other> channel::*theirs,
            Other& other) {
    channel& c = channels_[key];
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

  // What the processor spends on gathering or scattering a message of several runs.
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
    const auto peer = static_cast<std::size_t>(m.peer);
    ++st.pending;
    if (m.way == direction::recv) {
      arrival a;
      if (meet(between(peer, rank, m.lane), &channel::awaited, index, &channel::arrived, a))
        st.ready.push({a.done, index, a.receiver});
      return;
    }
    st.cpu += pack_time(rank, m);
    const message_cost cost = model_.cost(level_(static_cast<int>(rank), m.peer), ranks_[rank]->bytes(m));
    st.cpu += cost.sender;
    const seconds sent = take_port(st.out, st.cpu, cost.port);
    st.ready.push({sent, index, 0});
    events_.push({.time = sent - cost.port + cost.latency,
                  .order = order_++,
                  .rank = peer,
                  .from = rank,
                  .lane = m.lane,
                  .arrives = true,
                  .cost = cost});
  }

  // The first byte is there; the receiver's port takes the rest.
  void arrive(const event& e) {
    rank_state& st = states_[e.rank];
    const arrival a{take_port(st.in, e.time, e.cost.port), e.cost.receiver};
    std::uint32_t index = 0;
    if (!meet(between(e.from, e.rank, e.lane), &channel::arrived, a, &channel::awaited, index)) return;
    st.ready.push({a.done, index, a.receiver});
    go_on(e.rank, std::max(st.cpu, a.done));
  }

  // As many as the round allows in flight; of a round with lanes, the lane's next stage.
  void post_more(std::size_t rank, std::size_t k) {
    rank_state& st = states_[rank];
    lane_state& l = st.lanes[k];
    const schedule& s = *ranks_[rank];
    const round& r = s.rounds[st.round];
    if (r.lanes > 0 && l.pending > 0) return;
    const std::uint32_t limit =
        r.lanes > 0 || r.in_flight == 0 ? std::numeric_limits<std::uint32_t>::max() : r.in_flight;
    for (bool first = true; l.next < l.end && l.pending < limit; first = false) {
      if (r.lanes > 0 && !first && s.messages[l.next].waits) break;
      ++l.pending;
      post(rank, l.next++);
    }
  }

  void enter(std::size_t rank) {
    rank_state& st = states_[rank];
    const schedule& s = *ranks_[rank];
    const round& r = s.rounds[st.round];
    const std::uint32_t first = st.round == 0 ? 0 : s.rounds[st.round - 1].messages_end;
    st.entered = true;
    st.lanes.assign(std::max(r.lanes, 1U), {});
    if (r.lanes == 0) {
      st.lanes[0] = {first, r.messages_end, 0};
    } else {
      for (std::uint32_t i = first; i < r.messages_end; ++i) {
        lane_state& l = st.lanes[s.messages[i].lane];
        if (l.end == 0) l.next = i;
        l.end = i + 1;
      }
    }
    for (std::size_t k = 0; k < st.lanes.size(); ++k) post_more(rank, k);
    const std::uint32_t copies = st.round == 0 ? 0 : s.rounds[st.round - 1].copies_end;
    for (std::uint32_t i = copies; i < r.copies_end; ++i) {
      const region& from = s.copies[i].from;
      st.cpu += from.repeat * model_.copy.time(s.bytes(from) / from.repeat) * model_.ranks_per_core;
    }
  }

  // One step of a rank: it enters a round, completes a message, or leaves the round.
  void advance(std::size_t rank, seconds now) {
    rank_state& st = states_[rank];
    const schedule& s = *ranks_[rank];
    if (st.round == s.rounds.size() || now < st.cpu) return;
    st.cpu = now;
    if (!st.entered) {
      enter(rank);
      return go_on(rank, st.cpu);
    }
    if (st.pending == 0) {
      const std::uint32_t first = st.round == 0 ? 0 : s.rounds[st.round - 1].messages_end;
      if (s.rounds[st.round].messages_end > first) st.cpu += model_.wait;
      st.entered = false;
      ++st.round;
      return go_on(rank, st.cpu);
    }
    if (st.ready.empty()) return;  // an arrival wakes it
    const completion c = st.ready.top();
    if (c.ready > now) return go_on(rank, c.ready);
    st.ready.pop();
    const message& m = s.messages[c.message];
    if (m.way == direction::recv) st.cpu += c.receiver + pack_time(rank, m);
    --st.pending;
    const std::size_t k = s.rounds[st.round].lanes > 0 ? m.lane : 0;
    --st.lanes[k].pending;
    post_more(rank, k);
    go_on(rank, st.cpu);
  }

  std::span<const schedule* const> ranks_;
  const machine_model& model_;
  const std::function<int(int, int)>& level_;
  std::vector<rank_state> states_;
  std::unordered_map<std::size_t, channel> channels_;
  earliest_first<event> events_;
  std::uint64_t order_ = 0;
};

}  // namespace

std::vector<seconds> evaluate(std::span<const schedule* const> ranks, const machine_model& model,
                              const std::function<int(int, int)>& level) {
  return evaluation(ranks, model, level).run();
}

seconds evaluate_slowest(std::span<const schedule* const> ranks, const machine_model& model,
                         const std::function<int(int, int)>& level) {
  const auto ends = evaluate(ranks, model, level);
  return ends.empty() ? 0 : *std::ranges::max_element(ends);
}

}  // namespace taquin::detail
