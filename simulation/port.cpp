#include <algorithm>
#include <cstring>

#include "simulation/network.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t no_message = SIZE_MAX;

}  // namespace

void simulated_port::post(int to, std::span<const word> words) {
  if (network_.called_) network_.called_();
  simulated_network::require(words.size() <= limits_.words, "a message is too long");
  if (network_.posted_) network_.posted_(rank_, to, words.size());
  network_.between(rank_, to).messages.push_back({{words.begin(), words.end()}});
  network_.deliveries_.push_back({simulated_network::delivery::what::message, {rank_, to}});
  if (to != rank_) ++counts_.messages;
  ++network_.actions_;
}

void simulated_port::post_known(int to, std::span<const word> words) {
  post(to, words);
  network_.between(rank_, to).messages.back().known = true;
}

void simulated_port::receive(int from, std::span<const unit_run> into, std::uint32_t id) {
  if (network_.called_) network_.called_();
  simulated_network::require(into.size() == 1 || into.size() <= limits_.scattered,
                             "a transfer is received into too many runs");
  simulated_network::require(++in_progress_ <= limits_.transfers, "too many transfers are in progress");
  network_.between(from, rank_).receives.push_back({{into.begin(), into.end()}, id});
  network_.match({from, rank_});
  ++network_.actions_;
}

bool simulated_port::send(int to, std::span<const unit_run> from, std::uint32_t id) {
  if (network_.called_) network_.called_();
  auto& all = network_.between(rank_, to).sends;
  all.push_back({std::vector(from.begin(), from.end()), id});
  auto& out = all.back();
  ++network_.actions_;
  if (to != rank_) {
    ++counts_.messages;
    counts_.units_sent += static_cast<std::uint64_t>(units_of(from));
  }
  const bool packed = limits_.chunk > 0 && (from.size() != 1 || in_progress_ + limits_.reserved >= limits_.transfers);
  const bool early = network_.order_ == simulated_order::random && network_.random_() % 2 == 0;
  if (packed || early) {
    out.left = true;
    out.data = network_.copy_of(rank_, from);
  }
  network_.match({rank_, to});
  if (packed) {
    simulated_network::require(units_of(from) <= limits_.chunk, "more is packed than a buffer holds");
    return true;
  }
  simulated_network::require(++in_progress_ <= limits_.transfers, "too many transfers are in progress");
  ++sends_;
  if (early) report_sent(to, id, from);
  return false;
}

void simulated_port::refuse(int to) {
  network_.between(rank_, to).sends.push_back({.runs = {}, .left = true});
  network_.match({rank_, to});
  ++network_.actions_;
}

void simulated_port::read(int, word, std::span<const remote_part> parts) {
  if (network_.called_) network_.called_();
  for (const remote_part& part : parts)
    std::memcpy(part.to, reinterpret_cast<const void*>(part.address), part.bytes);  // NOLINT(performance-no-int-to-ptr)
}

void simulated_port::offer(int peer, const unit_run& units, count_t back) {
  auto& wire = network_.between(rank_, peer);
  wire.offered = units;
  wire.back = back;
}

// All ranks have made their offers: they wait for each other as in a collective.
bool simulated_port::try_open() {
  collective_ = {};
  joined_ = true;
  ++network_.actions_;
  return false;
}

count_t simulated_port::swappable(int peer) const {
  if (!node_ || network_.at(peer).node_ != node_) return 0;
  const auto& mine = network_.between(rank_, peer);
  const auto& theirs = network_.between(peer, rank_);
  const bool both = mine.back == theirs.offered.length && theirs.back == mine.offered.length;
  return both ? std::min(mine.back, theirs.back) : 0;
}

count_t simulated_port::swap_some(int peer, const unit_run& space) {
  auto& pair = network_.pair(rank_, peer);
  const count_t n = std::min(space.length, swappable(peer) - pair.started);
  if (n <= 0) return 0;
  pair.swaps.push_back({pair.started, n});
  pair.started += n;
  network_.deliveries_.push_back(
      {simulated_network::delivery::what::swap, {std::min(rank_, peer), std::max(rank_, peer)}});
  ++network_.actions_;
  return n;
}

swap_counts simulated_port::swaps(int peer) const {
  const auto& pair = network_.pair(rank_, peer);
  return {pair.started, pair.swapped};
}

bool simulated_port::try_swapped(int peer) {
  swaps_ = network_.pair(rank_, peer).swapped == swappable(peer) ? -1 : peer;
  return swaps_ < 0;
}

bool simulated_port::try_withdraw(int peer) {
  auto& wire = network_.between(rank_, peer);
  withdraws_ = wire.fetches.empty() ? -1 : peer;
  if (withdraws_ < 0) wire.withdrawn = true;
  return withdraws_ < 0;
}

bool simulated_port::fetch(int from, count_t offset, count_t expected, const unit_run& into, std::uint32_t id) {
  if (network_.called_) network_.called_();
  auto& wire = network_.between(from, rank_);
  if (wire.withdrawn || wire.offered.length != expected || network_.at(from).node_ != node_) return false;
  simulated_network::require(++in_progress_ <= limits_.transfers, "too many transfers are in progress");
  wire.fetches.push_back({offset, into, id});
  network_.deliveries_.push_back({simulated_network::delivery::what::fetch, {from, rank_}});
  ++network_.actions_;
  return true;
}

void simulated_port::report(const event& e) {
  events_.push_back(e);
  at_hand_ = static_cast<std::uint32_t>(events_.size());
}

void simulated_port::report_sent(int to, std::uint32_t id, std::span<const unit_run> runs) {
  report({event::kind::sent, to, id, {}, {runs.front().at, units_of(runs)}});
  if (network_.trace_)
    for (const unit_run& r : runs)
      network_.trace_({simulated_move::what::left, network_.round_, rank_, to, r.at, 0, r.length});
}

void simulated_port::moved(const unit_run& from, count_t to) {
  if (network_.trace_)
    network_.trace_({simulated_move::what::moved, network_.round_, rank_, -1, from.at, to, from.length});
}

std::size_t simulated_port::message_at_hand(const filter& f) const {
  if (!f.messages) return no_message;
  if (f.from < 0 && limits_.send_buffers == 0 && sends_ + limits_.reserved >= limits_.transfers) return no_message;
  for (std::size_t i = 0; i < inbox_.size(); ++i)
    if (f.from < 0 || inbox_[i].first == f.from) return i;
  return no_message;
}

bool simulated_port::poll(const filter& f) {
  filter_ = f;
  const std::size_t m = message_at_hand(f);
  const bool transfer = f.transfers && !events_.empty();
  if (!transfer && m == no_message) {
    next_ = {event::kind::quiet, -1, 0, {}, {}};
    return std::exchange(quiet_, false);
  }
  quiet_ = false;
  if (transfer && (m == no_message || network_.order_ == simulated_order::rounds || network_.random_() % 2 == 0)) {
    next_ = events_.front();
    events_.pop_front();
    at_hand_ = static_cast<std::uint32_t>(events_.size());
    if (next_.what != event::kind::fetched && next_.what != event::kind::taken) --in_progress_;
    if (next_.what == event::kind::sent) --sends_;
    return true;
  }
  auto& [from, message] = inbox_[m];
  words_ = std::move(message.words);
  next_ = {event::kind::message, from, 0, words_, {}};
  if (message.known) network_.at(from).report({event::kind::taken, rank_, 0, {}, {}});
  inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(m));
  return true;
}

event simulated_port::take() { return next_; }

bool simulated_port::begin(const collective& c) {
  collective_ = c;
  joined_ = true;
  ++counts_.collectives;
  ++network_.actions_;
  return false;
}

bool simulated_port::can_be_quiet() const noexcept {
  return suspended() && !suspends_test() && !joined_ && withdraws_ < 0 && swaps_ < 0 && limits_.idle_threshold >= 0 &&
         filter_.messages && filter_.transfers;
}

bool simulated_port::ready() {
  if (!suspended() || joined_) return false;
  if (suspends_test()) return true;
  if (withdraws_ >= 0) return network_.between(rank_, withdraws_).fetches.empty();
  if (swaps_ >= 0) return network_.pair(rank_, swaps_).swapped == swappable(swaps_);
  return (filter_.transfers && !events_.empty()) || message_at_hand(filter_) != no_message;
}

}  // namespace taquin::detail
