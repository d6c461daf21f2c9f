// slots: every free slot requests its own block.
//
// Source:  new. One request per wave of free slots, in place of the paper's root and phases: the receiver knows which
//          block belongs in each of its slots, requests it from the block's owner when the slot is free, and by taking
//          the block away frees a slot there, whose own block is requested next. If no slot is free a rank requests
//          blocks into its staging buffers, which opens a chain of such moves that closes when the staged block's own
//          slot is left; ranks open chains at different places, so that many run concurrently. See
//          docs/internals/redistribution.md for the proof that it ends.
// Rounds:  none in common; a chain is a walk over slots and all chains progress concurrently.
// Bytes:   every block is sent once, straight to its rank, and received where it belongs if that place is free; copies:
//          packing where a message's blocks are not contiguous, staged blocks once, staying blocks once.
// Memory:  16 bytes per block and 112 per rank beside what all algorithms take; where blocks are read, their places.
// Limits:  none.
// Wins:    everywhere but for exchanges that fit into a few eager messages.
#include "redistribute/pull_engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/sizes.hpp"
#include "redistribute/cost.hpp"
#include "redistribute/learn_sources.hpp"

namespace taquin::detail {

pull_engine::pull_engine(machine& m, const targets& t, block_reader* reader)
    : m_(m),
      t_(t),
      reader_(reader),
      chunk_(m.sizes.chunk),
      at_(m.memory),
      queue_(m.memory),
      pending_(m.memory),
      waiting_(m.memory),
      ops_(m.memory),
      list_(m.memory),
      runs_(m.memory) {
  table_sizes tables = m.tables(t);
  if (reader != nullptr) tables.buffers.words = std::min(tables.buffers.words, block_reader::most_words);
  array_list::take(*this, tables);
  const std::size_t p = pending_.size();
  for (std::size_t s = 0; s < p; ++s) {
    const std::uint32_t n = t.in_at[s + 1] - t.in_at[s];
    pending_[s].head = pending_[s].tail = t.in_at[s];
    pending_[s].unseen = n;
    // Ranks begin at different places, so that the chains that they open do not collide early.
    pending_[s].cursor = static_cast<std::uint32_t>(std::uint64_t{n} * static_cast<std::uint64_t>(m.rank) / p);
  }
  for (int r = 0; r < m.ranks; ++r) singly_ = singly_ && reader != nullptr && m.net->reads(r);
  window_ = std::max<std::size_t>(m.sizes.receive_buffers, 2 * (p - 1)) * chunk_;
  unsent_ = t.out_at.back();
  expected_ = t.in_at.back();
  opener_ = (m.rank + 1) % m.ranks;
}

void pull_engine::begin() {
  const block_map& map = *m_.map;
  for (std::uint32_t k = 0; k < t_.index.size(); ++k) {
    at_[t_.index[k]].origin = k;
    at_[t_.index[k]].needs = need::remote;
  }
  for (slot y = 0; y < map.slots(); ++y) {
    if (map.free(y)) continue;
    at_[y].holds = map[y].rank == m_.rank ? hold::waiting : hold::unsent;
    if (at_[y].holds != hold::waiting) continue;
    const slot x = map[y].index;
    at_[x].needs = x == y ? need::nothing : need::here;
    if (x == y) {
      at_[y].holds = hold::final;
    } else {
      at_[x].next = y;
      if (y >= m_.staging() && y < m_.spare()) ++waiting_[(y - m_.staging()) / chunk_];
    }
  }
  for (slot y = m_.staging(); y < map.slots(); ++y)
    if (y < m_.spare() && at_[y].holds == hold::unsent) ++waiting_[(y - m_.staging()) / chunk_];
  for (slot y = 0; y < m_.blocks(); ++y)
    if (at_[y].holds == hold::vacant) freed(y);
  for (slot y = m_.spare(); singly_ && y-- > m_.staging();) give(slack_, y);
}

// A slot became free.
void pull_engine::freed(slot y) {
  at_[y].holds = hold::free;
  m_.map->clear(y);
  if (y >= m_.staging()) {
    if (singly_) give(slack_, y);
    if (!singly_ && y < m_.spare()) --waiting_[(y - m_.staging()) / chunk_];
    return;
  }
  switch (at_[y].needs) {
    case need::nothing:
      give(slack_, y);
      break;
    case need::coming:
      break;
    case need::remote:
      queue_[pending_[as_size(source_of(y))].tail++] = at_[y].origin;
      ++open_;
      break;
    case need::here:
      at_[y].origin = gaps_;
      gaps_ = y;
      break;
  }
}

// A block that fills a free slot leaves another slot, which may be free afterwards: a chain of local moves may go
// through all blocks.
bool pull_engine::fill_gaps() {
  const std::size_t chunk = m_.blocks_per_test();
  while (gaps_ != no_slot) {
    if (copied_ >= chunk) return false;
    const slot y = std::exchange(gaps_, at_[gaps_].origin);
    const slot z = at_[y].next;
    if (at_[z].holds == hold::parked) --parked_;
    m_.map->move(z, y);
    ++copied_;
    settle(y);
    freed(z);
  }
  return true;
}

bool pull_engine::go_on() {
  copied_ = 0;
  do
    if (!fill_gaps() || copied_ >= m_.blocks_per_test()) return false;
  while (issue());
  return true;
}

int pull_engine::source_of(slot x) {
  const std::uint32_t k = at_[x].origin;
  const auto s = as_size(last_source_);
  if (k < t_.in_at[s] || k >= t_.in_at[s + 1])
    last_source_ = static_cast<int>(std::ranges::upper_bound(t_.in_at, k) - t_.in_at.begin()) - 1;
  return last_source_;
}

// The blocks of free slots are requested in large messages if possible; chains are opened while there are too few free
// slots for that. If blocks are read from their ranks' memory, a read is complete immediately and there is no pending
// request to count: chains count until they close. Otherwise all free places would receive blocks that are copied once
// more. A rank that waits for a chain to close need not open another: the chain closes by reads into free slots. One
// request; false when there is none to send now.
bool pull_engine::issue() {
  if (flying_ + awaited_ == ops_.size()) return false;
  int best = 0;
  for (int s = 1; s < m_.ranks; ++s)
    if (waiting_for(s) > waiting_for(best)) best = s;
  const slot most = waiting_for(best);
  const std::size_t open = reader_ != nullptr ? open_ + parked_ : open_;
  if (most < chunk_ && open < window_ && open_chain()) return true;
  if (most == 0 || (most < chunk_ && flying_ >= few)) return false;
  pull(best);
  return true;
}

slot pull_engine::free_buffer(slot reserve) const {
  slot found = no_slot;
  slot free = 0;
  for (slot b = 0; b < waiting_.size(); ++b) {
    if (waiting_[b] != 0) continue;
    found = b;
    ++free;
  }
  return free > reserve ? found : no_slot;
}

// Whether blocks of `source` are read. The kernel may refuse that after it has permitted it: then marked lists request
// them.
bool pull_engine::reads(int source) {
  access& known = pending_[as_size(source)].reads;
  if (known == access::unknown) {
    const bool may = reader_ != nullptr && m_.net->reads(source) && reader_->may_read(source);
    known = may ? access::permitted : access::refused;
  }
  return known == access::permitted;
}

void pull_engine::start_request(int source) {
  list_.clear();
  runs_.clear();
  op_ = {};
  if (!reads(source) && reader_ != nullptr && m_.net->reads(source)) list_.mark();
}

// Adds to the request block k of all incoming ones of this rank, for slot x, to be received into slot z. False when the
// request is full.
bool pull_engine::add(int source, std::uint32_t k, slot x, slot z) {
  const bool follows = !runs_.empty() && runs_.back().end() == z;
  if ((!follows && runs_.size() == (singly_ && reads(source) ? m_.sizes.read : m_.sizes.scattered)) ||
      !list_.add(k - t_.in_at[as_size(source)]))
    return false;
  append(runs_, z, m_.staging());
  if (op_.count++ == 0) op_.first = z;
  at_[x].needs = need::coming;
  at_[z].holds = hold::coming;
  m_.map->expect(z, {m_.rank, x});
  return true;
}

void pull_engine::ask(int source) {
  const auto id = static_cast<std::uint32_t>(std::ranges::find(ops_, 0U, &op::count) - ops_.begin());
  op_.source = source;
  ops_[id] = op_;
  ++flying_;
  ++pending_[as_size(source)].requested;
  ++m_.rounds;
  if (reads(source)) {
    reader_->read(source, list_.words(), runs_);
    report(source);
    copied_ += op_.count;
    arrived(id);
    ++pending_[as_size(source)].requested;  // until its acknowledgement was received
  } else {
    m_.net->receive(source, runs_, id);
    m_.net->post(source, list_.words());
  }
}

// Requests the blocks of free slots: straight into them, or by a buffer if they are small and scattered.
void pull_engine::pull(int source) {
  auto& [head, tail, cursor, unseen, requested, sure, read] = pending_[as_size(source)];
  const slot most = std::min(tail - head, singly_ && reads(source) ? m_.sizes.read : chunk_);
  slot in_a_row = 1;
  while (in_a_row < most && t_.index[queue_[head + in_a_row]] == t_.index[queue_[head]] + in_a_row) ++in_a_row;
  const slot buffer = in_a_row == most || m_.map->units().unit_bytes() >= scattered_bytes ? no_slot : free_buffer(0);
  const bool direct = buffer == no_slot;
  const std::uint32_t first = head;
  start_request(source);
  while (op_.count < most) {
    const slot x = t_.index[queue_[head]];
    if (head + 2 * ahead < tail) {
      __builtin_prefetch(&t_.index[queue_[head + 2 * ahead]]);
      prefetch(t_.index[queue_[head + ahead]]);
    }
    if (!add(source, queue_[head], x, direct ? x : m_.staging() + buffer * chunk_ + op_.count)) break;
    ++head;
    if (!direct) at_[x].holds = hold::free;
  }
  if (direct) {
    op_.first = first;
    op_.queued = true;
  } else {
    waiting_[buffer] = op_.count;
  }
  ask(source);
}

// Requests blocks whose slots are taken, into a buffer, or into free slots that no block is meant for.
bool pull_engine::open_chain() {
  const slot buffer = singly_ ? no_slot : free_buffer(m_.sizes.scatter_buffers);
  const bool staged = buffer != no_slot;
  if (!staged && slack_.count == 0) return false;
  const slot most = staged ? chunk_ : std::min(chunk_, slack_.count);
  for (int tried = 0; tried < m_.ranks; ++tried, opener_ = (opener_ + 1) % m_.ranks) {
    const int source = opener_;
    if (!may_ask(source)) continue;
    auto& list = pending_[as_size(source)];
    const std::uint32_t begin = t_.in_at[as_size(source)];
    const std::uint32_t count = t_.in_at[as_size(source) + 1] - begin;
    start_request(source);
    while (op_.count < most && list.unseen > 0) {
      const slot x = t_.index[begin + list.cursor];
      const bool wanted = at_[x].needs == need::remote && at_[x].holds != hold::free;
      const slot into = staged ? m_.staging() + buffer * chunk_ + op_.count : slack_.head;
      if (wanted && !add(source, begin + list.cursor, x, into)) break;
      if (wanted && !staged) take(slack_);
      list.cursor = list.cursor + 1 == count ? 0 : list.cursor + 1;
      --list.unseen;
    }
    if (op_.count == 0) continue;
    if (staged) waiting_[buffer] = op_.count;
    op_.linked = !staged;
    open_ += op_.count;
    opener_ = (opener_ + 1) % m_.ranks;
    ask(source);
    return true;
  }
  return false;
}

// A block is where it belongs.
void pull_engine::settle(slot x) {
  at_[x].holds = hold::final;
  at_[x].needs = need::nothing;
}

void pull_engine::arrived(std::uint32_t id) {
  const op got = std::exchange(ops_[id], {});
  --flying_;
  --pending_[as_size(got.source)].requested;
  open_ -= got.count;
  expected_ -= got.count;
  block_map& map = *m_.map;
  slot next = got.first;
  for (slot n = 0; n < got.count && got.queued; ++n) {
    if (n + ahead < got.count) prefetch(t_.index[queue_[got.first + n + ahead]]);
    map.arrived(t_.index[queue_[got.first + n]]);
    settle(t_.index[queue_[got.first + n]]);
  }
  for (slot n = 0; n < got.count && !got.queued; ++n) {
    const slot z = next;
    next = got.linked ? at_[z].next : z + 1;
    const slot x = map[z].index;
    map.arrived(z);
    // The places of staged blocks are scattered in memory, so they are prefetched.
    if (!got.linked && n + ahead < got.count) {
      const slot soon = map[z + ahead].index;
      prefetch(soon);
      __builtin_prefetch(map.units().at(soon), 1);
    }
    if (at_[x].holds == hold::free) {
      map.move(z, x);
      ++copied_;
      settle(x);
      freed(z);
    } else {
      at_[z].holds = hold::parked;
      ++parked_;
      at_[x].needs = need::here;
      at_[x].next = z;
    }
  }
}

namespace {

std::size_t slots_bytes(const table_sizes& s) noexcept { return pull_engine::bytes(s) + block_reader::bytes(s); }

task run_slots(machine& m) {
  targets mine(m.memory);
  if (m.known == nullptr) co_await learn_sources(m, mine);
  std::optional<block_reader> reader;
  if (m.net->reads() && !m.handed_over) {  // and so all blocks are in the array
    reader.emplace(m, m.known != nullptr ? *m.known : mine);
    co_await block_reader::exchange_addresses(m, *reader);
  }
  pull_engine engine(m, m.known != nullptr ? *m.known : mine, reader ? &*reader : nullptr);
  engine.begin();
  for (;;) {
    while (!engine.go_on()) co_await m.net->suspend_test();
    if (engine.done()) co_return;
    const event e = co_await m.net->next();
    engine.handle(e);
    while (reader) {
      const auto more = m.net->next_at_hand();
      if (!more) break;
      engine.handle(*more);
    }
  }
}

// As many transfers as buffers are pending at a time; each answers a request. Blocks of one rank for
// another are packed and unpacked if they are not consecutive.
seconds cost(const redistribution_load& l, const machine_model& m) noexcept {
  const redistribution_terms t(l, m);
  if (l.peers <= 0) return t.targets(0);
  const double chunk = l.buffers.chunk;
  const double transfers = std::max(l.peers, std::ceil(l.leaving / chunk));
  const double pending = l.buffers.receive_buffers;
  const double windows = std::max(std::ceil(transfers / pending), 1.0);
  const double each = transfers / windows;
  return t.targets(l.leaving) + t.control(windows, each, 2 + l.leaving / transfers) +
         t.transfer(windows, each, l.leaving / windows) + t.copies((l.peers > 1 ? 2 : 1) * l.leaving);
}

}  // namespace

const redistribution_algorithm slots_redistribution{
    .name = "slots",
    .summary = "every free slot requests its own block; chains of moves run concurrently, staging opens new ones",
    .source = "new",
    .rounds = "no common rounds",
    .memory = slots_bytes,
    .run = run_slots,
    .cost = cost,
};

}  // namespace taquin::detail
