#include "algorithms/in_place/in_place_simulated.hpp"

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <random>

#include "algorithms/in_place/simulated_units.hpp"
#include "schedule/simulated.hpp"

namespace taquin::detail {

namespace {

// Something that happens to a rank.
struct event {
  enum class what : std::uint8_t { requested, sent, arrived };
  what kind;
  int slot = 0;  // the sender's, or the receiver's
  int peer = 0;  // requested: who asks
  count_t offset = 0;
  count_t length = 0;
  count_t at = 0;  // arrived: where the data lie at the sender, and where they go
  location to{};
  int sender_slot = -1;           // arrived: the send to complete; −1: it is complete
  std::vector<std::byte> data{};  // arrived: the data, where the send is complete
};

class in_place_simulated {
 public:
  in_place_simulated(std::span<const in_place_rank> ranks, const element& unit, std::uint64_t seed,
                     const move_trace& trace)
      : random_(seed), trace_(trace) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const in_place_rank& g = ranks[r];
      auto& n = nodes_.emplace_back(g.buffer, g.limits.aux, unit);
      n.machine = std::make_unique<in_place_machine>(static_cast<int>(r), g.out, g.in, g.limits, g.memory);
      n.machine->reset();
    }
  }

  std::vector<simulated_counts> run(simulated_order order) {
    for (std::size_t r = 0; r < nodes_.size(); ++r) act(r, false);
    if (order == simulated_order::rounds) {
      by_rounds();
    } else {
      at_random();
    }
    std::vector<simulated_counts> counts;
    for (auto& n : nodes_) counts.push_back(n.counts);
    return counts;
  }

 private:
  struct node {
    node(std::byte* buffer, count_t aux, const element& unit) : memory(buffer, aux, unit) {}
    std::unique_ptr<in_place_machine> machine;
    std::deque<event> inbox;    // what can happen now
    std::deque<event> waiting;  // requests, until there is room for an answer
    simulated_memory memory;
    simulated_counts counts;
  };

  void tell(const traced_move& m) const {
    if (trace_) trace_(m);
  }

  void move(std::size_t r, const local_move& m) {
    node& n = nodes_[r];
    tell({traced_move::what::moved, round_, static_cast<int>(r), -1, m.from, m.to, m.length});
    n.counts.units_copied += static_cast<std::uint64_t>(m.length);
    n.memory.move(m);
  }

  // All that follows from what has happened; true when anything did.
  bool act(std::size_t r, bool idle) {
    node& n = nodes_[r];
    bool any = false;
    for (auto s = n.machine->next(idle); s.request || s.move; s = n.machine->next(idle && s.move)) {
      any = true;
      if (s.move) move(r, *s.move);
      if (!s.request) continue;
      ++n.counts.messages;
      event e{event::what::requested, s.request->slot, static_cast<int>(r), s.request->offset, s.request->length};
      e.to = s.request->to;
      nodes_[static_cast<std::size_t>(s.request->peer)].waiting.push_back(std::move(e));
    }
    return any;
  }

  void answer(std::size_t r, const event& e, bool eager) {
    node& n = nodes_[r];
    const in_place_answer a = n.machine->requested(e.peer, e.offset, e.length);
    if (a.length == 0) throw simulated_error(fmt::format("rank {} asks rank {} for what it has not", e.peer, r));
    ++n.counts.messages;
    n.counts.units_sent += static_cast<std::uint64_t>(a.length);
    event reply{event::what::arrived, e.slot, static_cast<int>(r), 0, a.length, a.at, e.to, a.slot};
    if (eager) {
      reply.sender_slot = -1;
      reply.data = n.memory.read({a.at, false}, a.length);
      n.inbox.push_back({event::what::sent, a.slot, e.peer, 0, a.length, a.at});
    }
    nodes_[static_cast<std::size_t>(e.peer)].inbox.push_back(std::move(reply));
  }

  void happen(std::size_t r, const event& e) {
    node& n = nodes_[r];
    if (e.kind == event::what::sent) {
      tell({traced_move::what::left, round_, static_cast<int>(r), e.peer, {e.at, false}, {}, e.length});
      return n.machine->sent(e.slot);
    }
    node& sender = nodes_[static_cast<std::size_t>(e.peer)];
    n.memory.write(e.sender_slot < 0 ? e.data : sender.memory.read({e.at, false}, e.length), e.to, e.length);
    if (e.sender_slot >= 0)
      sender.inbox.push_back({event::what::sent, e.sender_slot, static_cast<int>(r), 0, e.length, e.at});
    tell({traced_move::what::arrived, round_, static_cast<int>(r), e.peer, {}, e.to, e.length});
    n.machine->arrived(e.slot, e.length);
  }

  // When nothing is on its way, ranks do what they put off; false when none has anything to do.
  bool all_idle() {
    bool any = false;
    for (std::size_t r = 0; r < nodes_.size(); ++r) any = act(r, true) || any;
    return any;
  }

  [[nodiscard]] bool done() const {
    for (const auto& n : nodes_)
      if (!n.machine->done()) return false;
    return true;
  }

  void stuck() const {
    for (std::size_t r = 0; r < nodes_.size(); ++r)
      if (!nodes_[r].machine->done()) throw simulated_error(fmt::format("rank {} waits for ever", r));
  }

  void by_rounds() {
    while (!done()) {
      ++round_;
      std::vector<std::deque<event>> now(nodes_.size());
      bool any = false;
      for (std::size_t r = 0; r < nodes_.size(); ++r) now[r].swap(nodes_[r].inbox);
      std::vector<std::deque<event>> asked(nodes_.size());
      for (std::size_t r = 0; r < nodes_.size(); ++r) asked[r].swap(nodes_[r].waiting);
      for (std::size_t r = 0; r < nodes_.size(); ++r) {
        node& n = nodes_[r];
        bool news = !now[r].empty();
        for (const event& e : now[r]) happen(r, e);
        for (; !asked[r].empty() && n.machine->wants_request(); asked[r].pop_front()) {
          answer(r, asked[r].front(), false);
          news = true;
        }
        for (std::size_t k = asked[r].size(); k > 0; --k) {
          n.waiting.push_front(std::move(asked[r].back()));
          asked[r].pop_back();
        }
        const bool acted = act(r, !news && !n.machine->done());
        if (news || acted) n.counts.rounds = round_;
        any = any || news || acted;
      }
      if (!any) stuck();
    }
  }

  void at_random() {
    std::vector<std::size_t> ready;
    while (true) {
      ready.clear();
      for (std::size_t r = 0; r < nodes_.size(); ++r)
        if (!nodes_[r].inbox.empty() || can_answer(r)) ready.push_back(r);
      if (ready.empty()) {
        if (all_idle()) continue;
        return stuck();
      }
      const std::size_t r = ready[random_() % ready.size()];
      node& n = nodes_[r];
      if (n.inbox.empty() || (can_answer(r) && random_() % 2 == 0)) {
        const event e = std::move(n.waiting.front());
        n.waiting.pop_front();
        answer(r, e, random_() % 2 == 0);
      } else {
        const std::size_t i = random_() % n.inbox.size();
        const event e = std::move(n.inbox[i]);
        n.inbox.erase(n.inbox.begin() + static_cast<std::ptrdiff_t>(i));
        happen(r, e);
      }
      act(r, random_() % 64 == 0);
    }
  }

  [[nodiscard]] bool can_answer(std::size_t r) const {
    return !nodes_[r].waiting.empty() && nodes_[r].machine->wants_request();
  }

  std::mt19937_64 random_;
  const move_trace& trace_;
  std::uint64_t round_ = 0;
  std::vector<node> nodes_;
};

}  // namespace

std::vector<simulated_counts> run_in_place(std::span<const in_place_rank> ranks, const element& unit,
                                           simulated_order order, std::uint64_t seed, const move_trace& trace) {
  return in_place_simulated(ranks, unit, seed, trace).run(order);
}

}  // namespace taquin::detail
