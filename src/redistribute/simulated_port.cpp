#include "redistribute/simulated_port.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace taquin::detail {

namespace {

slot blocks_of(std::span<const slot_range> runs) {
  slot n = 0;
  for (const auto& r : runs) n += r.count;
  return n;
}

void require(bool kept, const char* limit) {
  if (!kept) throw std::logic_error(limit);
}

}  // namespace

void simulated_port::post(int to, std::span<const word> words) {
  require(words.size() <= limits_.words, "a message is too long");
  network_.messages_[{rank_, to}].emplace_back(words.begin(), words.end());
}

void simulated_port::receive(int from, std::span<const slot_range> into, std::uint32_t id) {
  require(into.size() == 1 || (into.size() <= limits_.scattered && blocks_of(into) <= limits_.chunk),
          "a transfer is received into too many runs");
  require(++under_way_ <= limits_.transfers, "too many transfers are under way");
  network_.wires_[{from, rank_}].receives.push_back({{into.begin(), into.end()}, id});
}

bool simulated_port::send(int to, std::span<const slot_range> from) {
  auto& sends = network_.wires_[{rank_, to}].sends;
  sends.push_back({{from.begin(), from.end()}, {}});
  if (from.size() == 1 && under_way_ + limits_.reserved < limits_.transfers) {
    ++under_way_;
    return false;
  }
  require(blocks_of(from) <= limits_.chunk, "more is packed than a buffer holds");
  sends.back().packed.resize(blocks_of(from) * store_.block_bytes());
  store_.gather(from, sends.back().packed.data());
  return true;
}

bool simulated_port::wait_event() {
  waits_for_event_ = events_.empty();
  return !waits_for_event_;
}

event simulated_port::take_event() {
  waits_for_event_ = false;
  event e = events_.front().what;
  if (e.what != event::kind::message) --under_way_;
  current_ = std::move(events_.front().words);
  e.words = current_;
  events_.pop_front();
  return e;
}

bool simulated_port::begin(const collective& c) {
  joined_ = c;
  waits_for_all_ = true;
  return false;
}

simulated_port& simulated_network::add(block_store& store, const port_limits& limits) {
  ports_.push_back(std::make_unique<simulated_port>(*this, store, limits, static_cast<int>(ports_.size())));
  return *ports_.back();
}

// The collective that all ranks have joined.
void simulated_network::collect(std::span<task> tasks) {
  const auto p = static_cast<std::size_t>(ranks_);
  std::vector<decltype(simulated_port::joined_)> c;
  c.reserve(ports_.size());
  for (const auto& one : ports_) c.push_back(one->joined_);
  if (!c[0].sums.empty()) {
    for (std::size_t i = 0; i < c[0].sums.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& one : c) sum += one.sums[i];
      for (const auto& one : c) one.sums[i] = sum;
    }
  } else {
    std::vector<std::vector<word>> sent;  // all that is sent, before anything is received: buffers may be shared
    sent.reserve(c.size());
    for (const auto& one : c) sent.emplace_back(one.out.begin(), one.out.end());
    for (std::size_t to = 0; to < p; ++to)
      for (std::size_t from = 0; from < p; ++from) {
        const std::uint32_t each = c[to].each;
        const std::size_t at = each > 0 ? from * each : c[to].in_at[from];
        const std::size_t n = each > 0 ? each : c[to].in_at[from + 1] - at;
        const std::size_t begin = each > 0 ? to * each : c[from].out_at[to];
        if (each == 0 && c[from].out_at[to + 1] - begin != n) throw std::logic_error("collective: sizes differ");
        std::copy_n(sent[from].begin() + static_cast<std::ptrdiff_t>(begin), n,
                    c[to].in.begin() + static_cast<std::ptrdiff_t>(at));
      }
  }
  for (std::size_t r = 0; r < p; ++r) {
    ports_[r]->waits_for_all_ = false;
    ports_[r]->resume();
    tasks[r].done() ? tasks[r].check() : void();
  }
}

// One message or transfer of those on their way, at random.
bool simulated_network::deliver() {
  std::erase_if(messages_, [](const auto& m) { return m.second.empty(); });
  std::erase_if(wires_, [](const auto& w) { return w.second.sends.empty() && w.second.receives.empty(); });
  std::vector<std::pair<int, int>> matched;
  for (const auto& [ends, w] : wires_)
    if (!w.sends.empty() && !w.receives.empty()) matched.push_back(ends);
  const std::size_t choices = messages_.size() + matched.size();
  if (choices == 0) return false;
  std::size_t pick = random_() % choices;
  if (pick < messages_.size()) {
    auto at = std::next(messages_.begin(), static_cast<std::ptrdiff_t>(pick));
    const auto [from, to] = at->first;
    ports_[static_cast<std::size_t>(to)]->events_.push_back(
        {{event::kind::message, from, 0, {}, {}}, std::move(at->second.front())});
    at->second.pop_front();
    return true;
  }
  const auto [from, to] = matched[pick - messages_.size()];
  simulated_port& sender = *ports_[static_cast<std::size_t>(from)];
  simulated_port& receiver = *ports_[static_cast<std::size_t>(to)];
  wire& w = wires_[{from, to}];
  outgoing out = std::move(w.sends.front());
  const incoming in = w.receives.front();
  w.sends.pop_front();
  w.receives.pop_front();
  const bool packed = !out.packed.empty() || out.runs.size() != 1;
  if (!packed) {
    out.packed.resize(out.runs[0].count * sender.store_.block_bytes());
    std::memcpy(out.packed.data(), sender.store_.at(out.runs[0].first), out.packed.size());
    sender.events_.push_back({{event::kind::sent, to, 0, {}, out.runs[0]}, {}});
  }
  std::size_t taken = 0;
  for (const slot_range& r : in.runs) {
    const std::size_t n = r.count * receiver.store_.block_bytes();
    if (n > out.packed.size() - taken) throw std::logic_error("a transfer is shorter than it should be");
    std::memcpy(receiver.store_.at(r.first), out.packed.data() + taken, n);
    taken += n;
  }
  if (taken != out.packed.size()) throw std::logic_error("a transfer is longer than it should be");
  receiver.events_.push_back({{event::kind::arrived, from, in.id, {}, in.runs.front()}, {}});
  return true;
}

void simulated_network::run(std::span<task> tasks) {
  for (task& t : tasks) {
    t.start();
    if (t.done()) t.check();
  }
  for (;;) {
    if (seen_) seen_();
    std::vector<std::size_t> ready;
    std::size_t joined = 0;
    std::size_t done = 0;
    for (std::size_t r = 0; r < tasks.size(); ++r) {
      simulated_port& p = *ports_[r];
      if (tasks[r].done()) {
        ++done;
      } else if (p.waits_for_all_) {
        ++joined;
      } else if (p.waits_for_event_ && !p.events_.empty()) {
        ready.push_back(r);
      }
    }
    if (done == tasks.size()) break;
    // Half of the time something is delivered first, so that ranks find several events at once.
    if ((ready.empty() || random_() % 2 == 0) && deliver()) continue;
    if (!ready.empty()) {
      const std::size_t r = ready[random_() % ready.size()];
      ports_[r]->resume();
      if (tasks[r].done()) tasks[r].check();
    } else if (joined == tasks.size()) {
      collect(tasks);
    } else {
      throw std::logic_error("deadlock: all ranks wait and nothing is on its way");
    }
  }
  if (deliver() || !wires_.empty()) throw std::logic_error("messages are left over at the end");
  for (const auto& p : ports_)
    if (!p->events_.empty()) throw std::logic_error("events are left over at the end");
}

}  // namespace taquin::detail
