// The lockstep run of in_place_phases.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>
#include <random>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/in_place/in_place_simulated.hpp"
#include "algorithms/in_place/simulated_units.hpp"
#include "schedule/simulated.hpp"

namespace taquin::detail {

namespace {

struct request {
  count_t direct = 0;
  count_t aux = 0;
  bool work_left = false;
};

// Data on their way. Those whose send is not complete are read when they arrive.
struct message {
  struct run {
    count_t at = 0;
    count_t length = 0;
    std::vector<std::byte> data{};
  };
  std::vector<run> runs{};
  bool complete = false;
};

// What one rank has sent to another and that has not been taken yet. The parts of a message in place and to auxiliary
// memory have a tag each.
struct channel {
  std::list<request> requests;
  std::array<std::list<message>, 2> data;
};

enum class stage : std::uint8_t { requests, data, done };

class in_place_phases_simulated {
 public:
  in_place_phases_simulated(std::span<const phase_rank> ranks, const element& unit, phase_requests how,
                            simulated_order order, std::uint64_t seed)
      : dense_(how == phase_requests::dense),
        dense_messages_(
            bruck::count(static_cast<int>(ranks.size()), bruck::radix_of({}, static_cast<int>(ranks.size()))).messages),
        order_(order),
        random_(seed),
        channels_(ranks.size()) {
    for (auto& from : channels_) from.resize(ranks.size());
    for (const phase_rank& r : ranks) {
      nodes_.emplace_back(r, unit);
      for (const peer_block& b : r.out) units_ += b.length;
    }
  }

  std::vector<simulated_counts> run() {
    for (std::size_t r = 0; r < nodes_.size(); ++r) begin_phase(r);
    if (order_ == simulated_order::rounds) {
      by_rounds();
    } else {
      at_random();
    }
    std::vector<simulated_counts> counts;
    for (auto& n : nodes_) {
      if (!n.machine.done()) throw simulated_error("a rank ended with work left");
      counts.push_back(n.counts);
    }
    return counts;
  }

 private:
  struct node {
    node(const phase_rank& r, const element& unit)
        : out(r.out),
          in(r.in),
          memory(r.buffer, r.limits.aux, unit),
          machine(r.out, r.in, r.limits, r.memory),
          to_come(r.in.size()) {
      machine.reset();
    }
    std::span<const peer_block> out;
    std::span<const peer_block> in;
    simulated_memory memory;
    in_place_phases_machine machine;
    std::vector<std::array<bool, 2>> to_come;  // per incoming block
    std::size_t on_their_way = 0;              // sends that are not complete
    stage at = stage::requests;
    count_t phases = 0;
    simulated_counts counts;
  };

  channel& between(std::size_t from, std::size_t to) { return channels_[from][to]; }
  static std::size_t peer(const peer_block& b) { return static_cast<std::size_t>(b.peer); }

  void begin_phase(std::size_t r) {
    node& n = nodes_[r];
    const bool done = n.machine.done();
    if (done && !dense_) {
      n.at = stage::done;
      return;
    }
    // In each phase a unit of some rank moves: more phases than units are a livelock.
    if (n.phases++ > units_) throw simulated_error(fmt::format("rank {} goes on for ever", r));
    n.at = stage::requests;
    const auto requests = n.machine.determine();
    if (dense_) {
      for (std::size_t to = 0; to < nodes_.size(); ++to) between(r, to).requests.push_back({0, 0, !done});
      n.counts.messages += dense_messages_;
    }
    for (std::size_t k = 0; k < n.in.size(); ++k) {
      const std::size_t to = peer(n.in[k]);
      const request mine{requests[k].direct, requests[k].aux, !done};
      if (dense_) {
        between(r, to).requests.back() = mine;
      } else if (n.machine.expected(k) > 0) {
        between(r, to).requests.push_back(mine);
        if (to != r) ++n.counts.messages;
      }
    }
  }

  [[nodiscard]] bool has_requests(std::size_t r) {
    if (dense_) {
      for (std::size_t from = 0; from < nodes_.size(); ++from)
        if (between(from, r).requests.empty()) return false;
      return true;
    }
    const node& n = nodes_[r];
    for (std::size_t k = 0; k < n.out.size(); ++k)
      if (n.machine.unsent(k) > 0 && between(peer(n.out[k]), r).requests.empty()) return false;
    return true;
  }

  void exchange_data(std::size_t r) {
    node& n = nodes_[r];
    n.at = stage::data;
    if (dense_) {
      bool any = false;
      for (std::size_t from = 0; from < nodes_.size(); ++from) any = any || between(from, r).requests.front().work_left;
      if (!any) n.at = stage::done;
    }
    for (std::size_t k = 0; k < n.out.size(); ++k) {
      const std::size_t to = peer(n.out[k]);
      if (!dense_ && n.machine.unsent(k) == 0) continue;
      const request granted = between(to, r).requests.front();
      if (granted.direct > 0) send(r, k, granted.direct, 0);
      if (granted.aux > 0) send(r, k, granted.aux, 1);
      if (!dense_) between(to, r).requests.pop_front();
    }
    if (dense_)
      for (std::size_t from = 0; from < nodes_.size(); ++from) between(from, r).requests.pop_front();
    const auto requests = n.machine.requests();
    for (std::size_t k = 0; k < n.in.size(); ++k) n.to_come[k] = {requests[k].direct > 0, requests[k].aux > 0};
  }

  void send(std::size_t r, std::size_t k, count_t length, std::size_t tag) {
    node& n = nodes_[r];
    const std::size_t to = peer(n.out[k]);
    message m;
    m.complete = order_ == simulated_order::random && random_() % 2 == 0;
    const bool all = n.machine.send(k, length, [&](count_t at, count_t units) {
      m.runs.push_back({at, units, {}});
      if (m.complete) m.runs.back().data = n.memory.read({at, false}, units);
    });
    if (!all) throw simulated_error(fmt::format("rank {} asks rank {} for what it has not", to, r));
    if (!m.complete) ++n.on_their_way;
    if (to != r) {
      ++n.counts.messages;
      n.counts.units_sent += static_cast<std::uint64_t>(length);
    }
    between(r, to).data[tag].push_back(std::move(m));
  }

  [[nodiscard]] bool has_arrived(std::size_t r, std::size_t k, std::size_t tag) {
    return nodes_[r].to_come[k][tag] && !between(peer(nodes_[r].in[k]), r).data[tag].empty();
  }

  void receive(std::size_t r, std::size_t k, std::size_t tag) {
    node& n = nodes_[r];
    const std::size_t from = peer(n.in[k]);
    auto& queue = between(from, r).data[tag];
    const auto& asked = n.machine.requests()[k];
    location to = tag == 0 ? location{asked.at, false} : location{asked.aux_at, true};
    const count_t end = to.at + (tag == 0 ? asked.direct : asked.aux);
    for (const auto& run : queue.front().runs) {
      if (to.at + run.length > end) throw simulated_error(fmt::format("rank {} is sent more than it asked for", r));
      n.memory.write(queue.front().complete ? run.data : nodes_[from].memory.read({run.at, false}, run.length), to,
                     run.length);
      to.at += run.length;
    }
    if (to.at < end) throw simulated_error(fmt::format("rank {} is sent less than it asked for", r));
    if (!queue.front().complete) --nodes_[from].on_their_way;
    queue.pop_front();
    n.to_come[k][tag] = false;
  }

  [[nodiscard]] static bool has_data(const node& n) {
    return n.on_their_way == 0 && std::ranges::none_of(n.to_come, [](const auto& b) { return b[0] || b[1]; });
  }

  void update(std::size_t r) {
    node& n = nodes_[r];
    n.machine.begin_update();
    while (const auto m = n.machine.next_move()) {
      n.counts.units_copied += static_cast<std::uint64_t>(m->length);
      n.memory.move(*m);
    }
    begin_phase(r);
  }

  // The end of a stage; false while messages are missing.
  bool advance(std::size_t r) {
    if (nodes_[r].at == stage::requests && has_requests(r)) {
      exchange_data(r);
      return true;
    }
    if (nodes_[r].at == stage::data && has_data(nodes_[r])) {
      update(r);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool done() const {
    return std::ranges::all_of(nodes_, [](const node& n) { return n.at == stage::done; });
  }

  [[noreturn]] static void stuck() { throw simulated_error("ranks wait for each other for ever"); }

  // Everybody takes what the others sent in the round before.
  void by_rounds() {
    for (std::uint64_t round = 1; !done(); ++round) {
      bool any = false;
      for (std::size_t r = 0; r < nodes_.size(); ++r)
        for (std::size_t k = 0; k < nodes_[r].in.size(); ++k)
          for (const std::size_t tag : {0U, 1U})
            if (has_arrived(r, k, tag)) {
              receive(r, k, tag);
              any = true;
            }
      std::vector<std::size_t> ready;
      for (std::size_t r = 0; r < nodes_.size(); ++r)
        if ((nodes_[r].at == stage::requests && has_requests(r)) ||
            (nodes_[r].at == stage::data && has_data(nodes_[r])))
          ready.push_back(r);
      for (const std::size_t r : ready) {
        advance(r);
        nodes_[r].counts.rounds = round;
      }
      if (!any && ready.empty()) stuck();
    }
  }

  void at_random() {
    std::vector<std::size_t> running(nodes_.size());
    while (!done()) {
      for (std::size_t r = 0; r < running.size(); ++r) running[r] = r;
      std::ranges::shuffle(running, random_);
      if (std::ranges::none_of(running, [&](std::size_t r) { return one_event(r); })) stuck();
    }
  }

  // One thing that can happen to the rank, if any.
  bool one_event(std::size_t r) {
    std::vector<std::pair<std::size_t, std::size_t>> arrivals;
    for (std::size_t k = 0; k < nodes_[r].in.size(); ++k)
      for (const std::size_t tag : {0U, 1U})
        if (has_arrived(r, k, tag)) arrivals.emplace_back(k, tag);
    if (arrivals.empty()) return advance(r);
    const auto [k, tag] = arrivals[random_() % arrivals.size()];
    receive(r, k, tag);
    return true;
  }

  bool dense_;
  std::size_t dense_messages_;  // of one exchange of requests
  count_t units_ = 0;           // of all ranks
  simulated_order order_;
  std::mt19937_64 random_;
  std::vector<node> nodes_;
  std::vector<std::vector<channel>> channels_;  // [from][to]
};

}  // namespace

std::vector<simulated_counts> run_phases(std::span<const phase_rank> ranks, const element& unit, phase_requests how,
                                         simulated_order order, std::uint64_t seed) {
  return in_place_phases_simulated(ranks, unit, how, order, seed).run();
}

}  // namespace taquin::detail
