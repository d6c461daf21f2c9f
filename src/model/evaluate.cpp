#include "model/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>

#include "schedule/lockstep.hpp"

namespace taquin::detail {

namespace {

/// A sent message as the receiver sees it.
struct arrival {
  seconds first_byte;
  message_cost cost;
};

/// The earliest of a rank's ports, taken for `busy` seconds from `ready` on; returns when it is done.
seconds take_port(std::vector<seconds>& ports, seconds ready, seconds busy) {
  auto port = std::ranges::min_element(ports);
  *port = std::max(*port, ready) + busy;
  return *port;
}

struct rank_state {
  std::size_t round = 0;
  std::uint32_t posted = 0;    // messages posted in all
  std::uint32_t received = 0;  // messages looked at for completion
  bool copied = false;
  seconds cpu = 0;           // processor free from here
  seconds round_end = 0;     // latest completion in this round
  std::vector<seconds> out;  // ports
  std::vector<seconds> in;
};

class evaluation {
 public:
  evaluation(std::span<const schedule* const> ranks, const machine_model& model,
             const std::function<int(int, int)>& level)
      : ranks_(ranks), model_(model), level_(level), states_(ranks.size()) {
    const auto ports = static_cast<std::size_t>(std::max(model.ports, 1));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      states_[i].out.assign(ports, 0);
      states_[i].in.assign(ports, 0);
      ready_.push_back(i);
    }
  }

  std::vector<seconds> run() {
    while (!ready_.empty()) {
      const std::size_t rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    std::vector<seconds> ends;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (states_[i].round < ranks_[i]->rounds.size())
        throw lockstep_error(fmt::format("deadlock: rank {} does not leave round {}", i, states_[i].round));
      ends.push_back(states_[i].cpu);
    }
    return ends;
  }

 private:
  std::deque<arrival>& channel(std::size_t from, std::size_t to) { return sent_[from * ranks_.size() + to]; }

  void send(std::size_t rank, const message& m) {
    rank_state& st = states_[rank];
    const count_t bytes = ranks_[rank]->bytes(m);
    if (m.regions > 1 || ranks_[rank]->regions[m.first_region].repeat > 1) st.cpu += pack_time(rank, m);
    const message_cost c = model_.cost(level_(static_cast<int>(rank), m.peer), bytes);
    st.cpu += c.sender;
    const seconds sent = take_port(st.out, st.cpu, c.port);
    st.round_end = std::max(st.round_end, sent);
    const auto to = static_cast<std::size_t>(m.peer);
    channel(rank, to).push_back({sent - c.port + c.latency, c});
    if (waits_for_[to] == rank + 1) {
      waits_for_[to] = 0;
      ready_.push_back(to);
    }
  }

  seconds pack_time(std::size_t rank, const message& m) const {
    seconds sum = 0;
    for (std::uint32_t k = 0; k < m.regions; ++k) {
      const region& r = ranks_[rank]->regions[m.first_region + k];
      sum += r.repeat * model_.pack.time(ranks_[rank]->bytes(r) / r.repeat);
    }
    return sum * model_.ranks_per_core;
  }

  // False when the message is not on its way yet.
  bool receive(std::size_t rank, const message& m) {
    rank_state& st = states_[rank];
    const auto from = static_cast<std::size_t>(m.peer);
    auto& queue = channel(from, rank);
    if (queue.empty()) {
      waits_for_[rank] = from + 1;
      return false;
    }
    const arrival a = queue.front();
    queue.pop_front();
    if (queue.empty()) sent_.erase(from * ranks_.size() + rank);
    const seconds arrived = take_port(st.in, a.first_byte, a.cost.port);
    st.cpu = std::max(st.cpu, arrived) + a.cost.receiver;
    if (m.regions > 1 || ranks_[rank]->regions[m.first_region].repeat > 1) st.cpu += pack_time(rank, m);
    st.round_end = std::max(st.round_end, st.cpu);
    return true;
  }

  void copy(std::size_t rank) {
    rank_state& st = states_[rank];
    const schedule& s = *ranks_[rank];
    const std::uint32_t first = st.round == 0 ? 0 : s.rounds[st.round - 1].copies_end;
    for (std::uint32_t i = first; i < s.rounds[st.round].copies_end; ++i)
      st.cpu += model_.copy.time(s.bytes(s.copies[i].from)) * model_.ranks_per_core;
    st.copied = true;
  }

  // With a limit, the oldest pending message must be complete before one more is posted.
  void advance(std::size_t rank) {
    rank_state& st = states_[rank];
    const schedule& s = *ranks_[rank];
    while (st.round < s.rounds.size()) {
      const round& r = s.rounds[st.round];
      const std::uint32_t limit = r.in_flight == 0 ? std::numeric_limits<std::uint32_t>::max() : r.in_flight;
      for (;;) {
        while (st.posted < r.messages_end && st.posted - st.received < limit) {
          const message& m = s.messages[st.posted++];
          if (m.way == direction::send) send(rank, m);
        }
        if (!st.copied) copy(rank);
        if (st.received == r.messages_end) break;
        const message& m = s.messages[st.received];
        if (m.way == direction::recv && !receive(rank, m)) return;
        ++st.received;
      }
      st.cpu = std::max(st.cpu, st.round_end) + model_.wait;
      st.round_end = 0;
      st.copied = false;
      ++st.round;
    }
  }

  std::span<const schedule* const> ranks_;
  const machine_model& model_;
  const std::function<int(int, int)>& level_;
  std::vector<rank_state> states_;
  std::unordered_map<std::size_t, std::deque<arrival>> sent_;
  std::unordered_map<std::size_t, std::size_t> waits_for_;
  std::deque<std::size_t> ready_;
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
