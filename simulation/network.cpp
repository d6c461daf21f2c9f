#include "simulation/network.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "simulation/runner.hpp"

namespace taquin::detail {

void simulated_network::require(bool kept, const char* limit) {
  if (!kept) throw simulated_error(limit);
}

simulated_port& simulated_network::add(store& units, const port_limits& limits, std::optional<int> node) {
  ports_.push_back(std::make_unique<simulated_port>(*this, units, limits, static_cast<int>(ports_.size()), node));
  return *ports_.back();
}

const simulated_counts& simulated_network::counts(std::size_t rank) const { return ports_[rank]->counts_; }

std::vector<std::byte> simulated_network::copy_of(int from, std::span<const unit_run> runs) {
  store& units = at(from).store_;
  if (units.counts_only()) return {};
  std::vector<std::byte> data(as_size(units_of(runs)) * units.unit_bytes());
  units.read(runs, data.data());
  return data;
}

void simulated_network::put(int from, int to, const std::vector<std::byte>& data, std::span<const unit_run> into,
                            count_t units, std::uint32_t id) {
  simulated_port& receiver = at(to);
  require(units <= units_of(into), "a transfer is longer than there is room for");
  const std::byte* next = data.data();
  count_t left = units;
  for (const unit_run& r : into) {
    const unit_run part{r.at, std::min(r.length, left)};
    left -= part.length;
    if (part.length == 0) continue;
    if (trace_) trace_({simulated_move::what::arrived, round_, to, from, 0, part.at, part.length});
    if (receiver.store_.counts_only()) continue;
    receiver.store_.write(next, part);
    next += as_size(part.length) * receiver.store_.unit_bytes();
  }
  receiver.report({event::kind::arrived, from, id, {}, {into.front().at, units}});
}

void simulated_network::deliver_message(const ends& e) {
  auto& messages = wires_[e].messages;
  at(e.second).inbox_.emplace_back(e.first, std::move(messages.front()));
  messages.pop_front();
}

void simulated_network::deliver_transfer(const ends& e) {
  wire& w = wires_[e];
  outgoing out = std::move(w.sends.front());
  const incoming in = std::move(w.receives.front());
  w.sends.pop_front();
  w.receives.pop_front();
  --w.matched;
  const count_t units = units_of(out.runs);
  if (!out.left) {
    out.data = copy_of(e.first, out.runs);
    at(e.first).report_sent(e.second, out.id, out.runs);
  }
  put(e.first, e.second, out.data, in.runs, units, in.id);
}

void simulated_network::deliver_fetch(const ends& e) {
  wire& w = wires_[e];
  const fetching f = w.fetches.front();
  w.fetches.pop_front();
  const unit_run from{w.offered.at + f.offset, f.into.length};
  const auto data = copy_of(e.first, std::span(&from, 1));
  at(e.first).report({event::kind::fetched, e.second, 0, {}, {f.offset, f.into.length}});
  put(e.first, e.second, data, std::span(&f.into, 1), f.into.length, f.id);
}

void simulated_network::deliver_swap(const ends& e) {
  wire& lower = wires_[e];
  wire& higher = wires_[{e.second, e.first}];
  const swap s = lower.swaps.front();
  lower.swaps.pop_front();
  lower.swapped += s.length;
  const unit_run here{lower.offered.at + s.at, s.length};
  const unit_run there{higher.offered.at + s.at, s.length};
  const auto data = copy_of(e.first, std::span(&here, 1));
  const auto other = copy_of(e.second, std::span(&there, 1));
  if (!at(e.first).store_.counts_only()) at(e.first).store_.write(other.data(), here);
  if (!at(e.second).store_.counts_only()) at(e.second).store_.write(data.data(), there);
  if (!trace_) return;
  trace_({simulated_move::what::arrived, round_, e.first, e.second, 0, here.at, here.length});
  trace_({simulated_move::what::arrived, round_, e.second, e.first, 0, there.at, there.length});
}

void simulated_network::deliver(const delivery& d) {
  switch (d.kind) {
    case delivery::what::message:
      return deliver_message(d.between);
    case delivery::what::transfer:
      return deliver_transfer(d.between);
    case delivery::what::fetch:
      return deliver_fetch(d.between);
    case delivery::what::swap:
      return deliver_swap(d.between);
  }
}

// A send or a receive has been added: as many messages can be delivered as the shorter of the two queues has.
void simulated_network::match(const ends& e) {
  wire& w = wires_[e];
  const std::size_t pairs = std::min(w.sends.size(), w.receives.size());
  for (; w.matched < pairs; ++w.matched) deliveries_.push_back({delivery::what::transfer, e});
}

// Delivers a random one of the messages in flight.
bool simulated_network::deliver_one() {
  if (deliveries_.empty()) return false;
  std::swap(deliveries_[random_() % deliveries_.size()], deliveries_.back());
  const delivery d = deliveries_.back();
  deliveries_.pop_back();
  deliver(d);
  return true;
}

bool simulated_network::deliver_all() {
  for (const delivery& d : deliveries_) deliver(d);
  const bool any = !deliveries_.empty();
  deliveries_.clear();
  return any;
}

// An exchange in log rounds sends half of the blocks in each.
void simulated_network::show_collective() const {
  if (!collected_) return;
  std::size_t most = 0;
  for (const auto& one : ports_) {
    const auto& c = one->collective_;
    const bool exchanges = c.each > 0 || !c.in_at.empty();
    const std::size_t reduced = c.values.size() * (sizeof(std::uint64_t) / sizeof(word));
    most = std::max({most, reduced, c.root >= 0 ? c.in.size() : 0, exchanges ? (c.out.size() + 1) / 2 : 0});
  }
  collected_(most);
}

// The collective, once all ranks have joined it.
bool simulated_network::collect_if_joined() {
  for (const auto& one : ports_)
    if (!one->waits_for_all()) return false;
  show_collective();
  const std::size_t p = ports_.size();
  const auto of = [&](std::size_t r) -> auto& { return ports_[r]->collective_; };
  const auto& first = of(0);
  if (!first.values.empty()) {
    for (std::size_t i = 0; i < first.values.size(); ++i) {
      std::uint64_t all = 0;
      for (std::size_t r = 0; r < p; ++r) all = first.largest ? std::max(all, of(r).values[i]) : all + of(r).values[i];
      for (std::size_t r = 0; r < p; ++r) of(r).values[i] = all;
    }
  } else if (first.root >= 0) {
    for (std::size_t r = 0; r < p; ++r) std::ranges::copy(of(as_size(first.root)).in, of(r).in.begin());
  } else if (first.each > 0 || !first.in_at.empty()) {
    std::vector<std::vector<word>> sent;  // all that is sent, before anything is received: buffers may be shared
    for (std::size_t r = 0; r < p; ++r) {
      auto& words = sent.emplace_back();
      for (std::size_t k = 0; k < of(r).out.size(); k += of(r).stride) words.push_back(of(r).out[k]);
    }
    for (std::size_t to = 0; to < p; ++to)
      for (std::size_t from = 0; from < p; ++from) {
        const std::uint32_t each = of(to).each;
        const std::size_t place = each > 0 ? from * each : of(to).in_at[from];
        const std::size_t n = each > 0 ? each : of(to).in_at[from + 1] - place;
        const std::size_t begin = each > 0 ? to * each : of(from).out_at[to];
        require(each > 0 || of(from).out_at[to + 1] - begin == n, "collective: sizes differ");
        std::copy_n(sent[from].begin() + static_cast<std::ptrdiff_t>(begin), n,
                    of(to).in.begin() + static_cast<std::ptrdiff_t>(place));
      }
  }
  for (const auto& one : ports_) one->joined_ = false;
  for (std::size_t r = 0; r < p; ++r) {
    ports_[r]->counts_.rounds = round_;
    ports_[r]->resume();
    if (tasks_[r].done()) tasks_[r].check();
  }
  return true;
}

// Resumes a rank that is ready, or, with `quiet`, gives it the event that nothing is in flight. True when it then did
// something.
bool simulated_network::go_on(std::size_t r, bool quiet) {
  simulated_port& p = *ports_[r];
  const std::uint64_t before = actions_;
  p.quiet_ = quiet;
  if (p.suspends_test()) {
    // its turn is now
  } else if (p.withdraws_ >= 0) {
    p.try_withdraw(p.withdraws_);
  } else if (p.swaps_ >= 0) {
    p.try_swapped(p.swaps_);
  } else {
    p.poll(p.filter_);
  }
  do p.resume();
  while (order_ == simulated_order::rounds && p.suspends_test());
  if (tasks_[r].done()) {
    tasks_[r].check();
    ++actions_;
  }
  const bool acted = actions_ != before;
  if (acted || !quiet) p.counts_.rounds = round_;
  return acted;
}

bool simulated_network::done() const {
  return std::ranges::all_of(tasks_, [](const task& t) { return t.done(); });
}

void simulated_network::at_random() {
  std::vector<std::size_t> ready;
  for (std::uint64_t quiet_since = 0; !done();) {
    if (seen_) seen_();
    ready.clear();
    for (std::size_t r = 0; r < ports_.size(); ++r)
      if (ports_[r]->ready() || (ports_[r]->can_be_quiet() && random_() % 256 == 0)) ready.push_back(r);
    // Half of the time a message is delivered first, so that ranks find several events together.
    if ((ready.empty() || random_() % 2 == 0) && deliver_one()) continue;
    if (!ready.empty()) {
      const std::size_t r = ready[random_() % ready.size()];
      go_on(r, !ports_[r]->ready());
    } else if (!collect_if_joined()) {
      // Nothing is in flight: ranks do their deferred actions. Twice consecutively without an effect is a deadlock.
      if (quiet_since == actions_ + 1) throw simulated_error("all ranks wait and nothing is on its way");
      quiet_since = actions_ + 1;
      for (std::size_t r = 0; r < ports_.size(); ++r)
        if (ports_[r]->can_be_quiet()) go_on(r, true);
    }
  }
}

void simulated_network::by_rounds() {
  for (int fruitless = 0; !done();) {
    ++round_;
    if (seen_) seen_();
    bool any = deliver_all();
    if (collect_if_joined()) continue;
    for (std::size_t r = 0; r < ports_.size(); ++r) {
      if (ports_[r]->ready()) {
        go_on(r);
        any = true;
      } else if (ports_[r]->can_be_quiet()) {
        any = go_on(r, true) || any;
      }
    }
    fruitless = any ? 0 : fruitless + 1;
    if (fruitless > 2) throw simulated_error("all ranks wait and nothing is on its way");
  }
}

void simulated_network::expect_nothing_left() const {
  for (const auto& [e, w] : wires_)
    require(w.sends.empty() && w.receives.empty() && w.messages.empty() && w.fetches.empty() && w.swaps.empty(),
            "messages are left over at the end");
  for (const auto& p : ports_)
    for (const event& e : p->events_) require(e.what == event::kind::sent, "events are left over at the end");
  for (const auto& p : ports_) require(p->inbox_.empty(), "messages are left over at the end");
}

void simulated_network::run(std::span<task> tasks) {
  tasks_ = tasks;
  for (task& t : tasks) {
    t.start();
    if (t.done()) t.check();
  }
  order_ == simulated_order::random ? at_random() : by_rounds();
  expect_nothing_left();
}

}  // namespace taquin::detail
