#include "simulation/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "base/sizes.hpp"
#include "schedule/walk.hpp"
#include "simulation/runner_memory.hpp"

namespace taquin::detail {

namespace {

/// Calls f(pointer, bytes) for each run of data bytes of a region.
template <class F>
void for_each_run(const region& r, const element& e, std::byte* base, F f) {
  for (std::uint32_t k = 0; k < r.repeat; ++k) {
    std::byte* at = base + r.offset + k * r.stride;
    if (e.size == e.extent) {
      f(at, as_size(r.count * e.size));
    } else {
      for (count_t i = 0; i < r.count; ++i) f(at + i * e.extent, as_size(e.size));
    }
  }
}

constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

// A message that waits for its counterpart. Objects and the memory of their data are reused: there are as many as
// messages wait at a time.
struct pending {
  int rank = 0;
  std::uint32_t index = 0;        // into its schedule's messages
  std::size_t step = 0;           // the chain before it
  std::uint32_t next = none;      // behind it in its queue
  std::vector<std::byte> data{};  // eager sends
};

struct pair_queue {  // from one rank to another: waiting sends or waiting receives, never both
  std::uint32_t first = none;
  std::uint32_t last = none;
  message_direction direction = message_direction::send;
};

class simulation {
 public:
  simulation(std::span<const simulated_rank> ranks, delivery how, const combiner& op, const watcher& deadline)
      : ranks_(ranks), how_(how), op_(op), deadline_(deadline) {
    states_.reserve(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      states_.emplace_back(*ranks[i].plan);
      states_[i].scratch.resize(ranks[i].plan->scratch_bytes);
      ready_.push_back(static_cast<int>(i));
      node_memory& node = nodes_[node_of(static_cast<int>(i))];
      if (!node.arrivals.empty() && node.data.size() != ranks[i].plan->shared_bytes)
        throw simulated_error(fmt::format("rank {} shares {} bytes, others of its node {}", i,
                                          ranks[i].plan->shared_bytes, node.data.size()));
      states_[i].local = node.arrivals.size();
      node.arrivals.push_back(0);
      node.resize(ranks[i].plan->shared_bytes);
    }
  }

  simulated_result run() {
    while (!ready_.empty()) {
      const int rank = ready_.front();
      ready_.pop_front();
      states_[as_size(rank)].queued = false;
      advance(rank);
    }
    simulated_result result;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::size_t rounds = ranks_[i].plan->rounds.size();
      if (!states_[i].position.at_end())
        throw simulated_error(
            fmt::format("deadlock: rank {} does not leave round {} of {}", i, states_[i].position.round(), rounds));
      result.rounds = std::max(result.rounds, rounds);
      result.steps = std::max(result.steps, states_[i].steps);
    }
    for (const auto& [key, c] : channels_)
      if (c.first != none)
        throw simulated_error(fmt::format("messages of rank {} to rank {} never meet their counterparts",
                                          key / ranks_.size() % ranks_.size(), key % ranks_.size()));
    return result;
  }

 private:
  struct chain {            // messages of which each had to wait for the one before
    std::size_t steps = 0;  // before the lane's current stage
    std::size_t at_its_end = 0;
  };

  struct state {
    explicit state(const schedule& s) : position(s) {}
    walk position;
    bool queued = true;
    std::vector<chain> chains;           // of the round's lanes
    std::size_t local = 0;               // among its node's ranks
    int awaited = 0;                     // arrivals of all of them that it has waited for
    std::size_t steps = 0;               // messages in a chain before this round
    std::vector<std::uint32_t> arrived;  // packed messages that are scattered when the round is over
    std::vector<std::byte> scratch;
  };

  [[nodiscard]] int node_of(int rank) const {
    const int node = ranks_[as_size(rank)].node;
    return node >= 0 ? node : -1 - rank;
  }

  std::byte* base(int rank, place where) {
    const auto i = as_size(rank);
    switch (where) {
      case place::send:
        return ranks_[i].send;
      case place::recv:
        return ranks_[i].recv;
      case place::shared:
        return nodes_[node_of(rank)].data.data();
      case place::scratch:
        break;
    }
    return states_[i].scratch.data();
  }

  void touch(int rank, const region& r, const element& e, bool write) {
    if (r.where != place::shared) return;
    const state& st = states_[as_size(rank)];
    node_memory& node = nodes_[node_of(rank)];
    const int made = node.arrivals[st.local];
    for_each_run(r, e, node.data.data(), [&](const std::byte* at, std::size_t n) {
      const auto first = as_size(at - node.data.data());
      if (first + n > node.data.size()) throw simulated_error(fmt::format("rank {} leaves the shared memory", rank));
      if (write) {
        node.write(rank, first, n, made, st.awaited);
      } else {
        node.read(rank, first, n, made, st.awaited);
      }
    });
  }

  void gather(int rank, const message& m, std::vector<std::byte>& data) {
    const schedule& s = *ranks_[as_size(rank)].plan;
    std::size_t done = 0;
    data.resize(as_size(s.bytes(m)));
    for (std::uint32_t k = 0; k < m.regions; ++k) {
      const region& r = s.regions[m.first_region + k];
      touch(rank, r, s.types[r.type], false);
      for_each_run(r, s.types[r.type], base(rank, r.where), [&](const std::byte* at, std::size_t n) {
        std::memcpy(data.data() + done, at, n);
        done += n;
      });
    }
  }

  void scatter(int rank, const message& m, const std::vector<std::byte>& data) {
    const schedule& s = *ranks_[as_size(rank)].plan;
    std::size_t done = 0;
    for (std::uint32_t k = 0; k < m.regions; ++k) {
      const region& r = s.regions[m.first_region + k];
      touch(rank, r, s.types[r.type], true);
      for_each_run(r, s.types[r.type], base(rank, r.where), [&](std::byte* at, std::size_t n) {
        std::memcpy(at, data.data() + done, n);
        done += n;
      });
    }
  }

  void do_copies(int rank) {
    const schedule& s = *ranks_[as_size(rank)].plan;
    const auto [first, end] = s.copies_of(states_[as_size(rank)].position.round());
    std::vector<std::byte> data;
    for (std::uint32_t i = first; i < end; ++i) {
      const copy& c = s.copies[i];
      if (s.bytes(c.from) != s.bytes(c.to)) throw simulated_error(fmt::format("rank {}: a copy between sizes", rank));
      if (c.how == merge::combine) {
        op_(base(rank, c.from.where) + c.from.offset, base(rank, c.to.where) + c.to.offset, c.to.count);
        continue;
      }
      data.clear();
      touch(rank, c.from, s.types[c.from.type], false);
      touch(rank, c.to, s.types[c.to.type], true);
      for_each_run(c.from, s.types[c.from.type], base(rank, c.from.where),
                   [&](const std::byte* at, std::size_t n) { data.insert(data.end(), at, at + n); });
      std::size_t done = 0;
      for_each_run(c.to, s.types[c.to.type], base(rank, c.to.where), [&](std::byte* at, std::size_t n) {
        std::memcpy(at, data.data() + done, n);
        done += n;
      });
    }
  }

  void wake(int rank) {
    auto& st = states_[as_size(rank)];
    if (st.queued) return;
    st.queued = true;
    ready_.push_back(rank);
  }

  std::size_t lane_of(int rank, std::uint32_t i) {
    const auto r = as_size(rank);
    return states_[r].position.lane_of(ranks_[r].plan->messages[i]);
  }

  void complete(int rank, std::uint32_t i, std::size_t step) {
    state& st = states_[as_size(rank)];
    const std::size_t lane = lane_of(rank, i);
    st.position.complete(lane);
    st.chains[lane].at_its_end = std::max(st.chains[lane].at_its_end, step);
    wake(rank);
  }

  std::uint32_t take(int rank, std::uint32_t index, std::size_t step) {
    std::uint32_t id = 0;
    if (free_.empty()) {
      id = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    pending& w = pool_[id];
    w.rank = rank;
    w.index = index;
    w.step = step;
    w.next = none;
    return id;
  }

  void match(std::uint32_t send, std::uint32_t recv) {
    pending& from = pool_[send];
    pending& to = pool_[recv];
    const schedule& s = *ranks_[as_size(from.rank)].plan;
    const schedule& t = *ranks_[as_size(to.rank)].plan;
    if (s.bytes(s.messages[from.index]) != t.bytes(t.messages[to.index]))
      throw simulated_error(fmt::format("rank {} sends {} bytes to rank {}, which takes {}", from.rank,
                                        s.bytes(s.messages[from.index]), to.rank, t.bytes(t.messages[to.index])));
    std::size_t step = from.step + 1;
    if (how_ == delivery::rendezvous) {
      step = std::max(step, to.step + 1);
      if (s.messages[from.index].how != packing::packed) gather(from.rank, s.messages[from.index], from.data);
      complete(from.rank, from.index, step);
    }
    complete(to.rank, to.index, step);
    if (deadline_) {
      deadline_(from.rank, from.index, from.data);
      deadline_(to.rank, to.index, from.data);
    }
    if (t.messages[to.index].how == packing::packed) {
      std::swap(from.data, to.data);
      states_[as_size(to.rank)].arrived.push_back(recv);
    } else {
      scatter(to.rank, t.messages[to.index], from.data);
      free_.push_back(recv);
    }
    free_.push_back(send);
  }

  void post(int rank, std::uint32_t i) {
    const message& m = ranks_[as_size(rank)].plan->messages[i];
    const bool send = m.direction == message_direction::send;
    const auto p = ranks_.size();
    const auto mine = as_size(rank);
    const auto other = as_size(m.peer);
    pair_queue& c = channels_[m.tag * p * p + (send ? mine * p + other : other * p + mine)];
    state& st = states_[mine];
    const std::size_t lane = lane_of(rank, i);
    const std::uint32_t id = take(rank, i, st.chains[lane].steps);
    if (send) {
      if (how_ == delivery::eager || m.how == packing::packed) gather(rank, m, pool_[id].data);
      if (how_ == delivery::eager) st.position.complete(lane);
    }
    if (c.first != none && c.direction != m.direction) {
      const std::uint32_t waited = c.first;
      c.first = pool_[waited].next;
      match(send ? id : waited, send ? waited : id);
      return;
    }
    (c.first == none ? c.first : pool_[c.last].next) = id;
    c.last = id;
    c.direction = m.direction;
  }

  // A lane whose messages are complete enters its next stages.
  void post_what_may(int rank, state& st, std::size_t lane) {
    const walk::lane& l = st.position.at(lane);
    do {
      if (st.position.staged() && l.open == 0) st.chains[lane].steps = st.chains[lane].at_its_end;
      st.position.post(lane, [&](std::uint32_t i) { post(rank, i); });
    } while (l.open == 0 && l.next < l.end);
  }

  void advance(int rank) {
    auto& st = states_[as_size(rank)];
    const schedule& s = *ranks_[as_size(rank)].plan;
    while (!st.position.at_end()) {
      const round& r = st.position.now();
      node_memory& node = nodes_[node_of(rank)];
      if (!st.position.entered()) {
        if (r.awaits >= 0 && std::ranges::min(node.arrivals) < r.awaits) return;
        st.awaited = std::max(st.awaited, r.awaits);
        if (how_ == delivery::eager) do_copies(rank);
        st.position.enter();
        st.chains.assign(st.position.lanes(), {st.steps, st.steps});
      }
      for (std::size_t k = 0; k < st.position.lanes(); ++k) post_what_may(rank, st, k);
      if (!st.position.done()) return;
      for (const std::uint32_t id : st.arrived) {
        scatter(rank, s.messages[pool_[id].index], pool_[id].data);
        free_.push_back(id);
      }
      st.arrived.clear();
      if (how_ == delivery::rendezvous) do_copies(rank);
      for (const chain& c : st.chains) st.steps = std::max(st.steps, c.at_its_end);
      st.position.leave();
      if (r.arrives) {
        ++node.arrivals[st.local];
        for (std::size_t i = 0; i < ranks_.size(); ++i)
          if (node_of(static_cast<int>(i)) == node_of(rank)) wake(static_cast<int>(i));
      }
    }
  }

  std::span<const simulated_rank> ranks_;
  delivery how_;
  const combiner& op_;
  const watcher& deadline_;
  std::vector<state> states_;
  std::unordered_map<int, node_memory> nodes_;
  std::unordered_map<std::size_t, pair_queue> channels_;
  std::deque<pending> pool_;
  std::vector<std::uint32_t> free_;
  std::deque<int> ready_;
};

}  // namespace

simulated_result run_simulated(std::span<const simulated_rank> ranks, delivery how, const combiner& op,
                               const watcher& deadline) {
  return simulation(ranks, how, op, deadline).run();
}

}  // namespace taquin::detail
