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
// Memory:  4 bytes per block and 64 per rank beside what all algorithms take.
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

pull_engine::pull_engine(machine& m, targets& t, block_reader* reader)
    : m_(m),
      t_(t),
      reader_(reader),
      chunk_(m.sizes.chunk),
      pending_(m.memory),
      waiting_(m.memory),
      ops_(m.memory),
      list_(m.memory),
      runs_(m.memory),
      candidates_(m.memory) {
  table_sizes tables = m.tables();
  if (reader != nullptr) tables.buffers.words = std::min(tables.buffers.words, block_reader::most_words);
  array_list::take(*this, tables);
  const std::size_t p = pending_.size();
  // Ranks begin at different places, so that the chains that they open do not collide early.
  for (std::size_t s = 0; s < p; ++s) {
    if (s == as_size(m.rank)) continue;
    pending_[s].unseen = t.in_at[s + 1] - t.in_at[s];
    pending_[s].at = static_cast<slot>(std::uint64_t{pending_[s].unseen} * static_cast<std::uint64_t>(m.rank) / p);
  }
  for (int r = 0; r < m.ranks; ++r) singly_ = singly_ && reader != nullptr && m.net->reads(r);
  window_ = (singly_ ? in_cache : std::max<std::size_t>(m.sizes.receive_buffers, 2 * (p - 1))) * chunk_;
  unsent_ = t.leaving(m.rank);
  expected_ = unseen_ = t.incoming(m.rank);
  opener_ = (m.rank + 1) % m.ranks;
}

void pull_engine::begin() {
  const block_map& map = *m_.map;
  for (slot y = m_.staging(); y < m_.spare(); ++y)
    if (!map.free(y)) ++waiting_[(y - m_.staging()) / chunk_];
  for (slot y = 0; y < m_.blocks(); ++y)
    if (map.free(y)) freed(y);
  for (slot y = m_.spare(); singly_ && y-- > m_.staging();) give(slack_, y);
}

// A slot became free.
void pull_engine::freed(slot y) {
  m_.map->clear(y);
  if (y >= m_.staging()) {
    if (singly_) give(slack_, y);
    if (!singly_ && y < m_.spare()) --waiting_[(y - m_.staging()) / chunk_];
    return;
  }
  const need n(t_.place[y]);
  switch (n.what()) {
    case need::kind::aside:
      give(slack_, y);
      break;
    case need::kind::requested:
      break;
    case need::kind::elsewhere: {
      peer_state& p = pending_[as_size(source_of(n.number()))];
      if (p.waiting++ == 0)
        p.head = y;
      else
        m_.map->link(p.tail, y);
      p.tail = y;
      ++open_;
      break;
    }
    case need::kind::here:
      m_.map->link(y, std::exchange(gaps_, y));
      break;
  }
}

// A block that fills a free slot leaves another slot, which may be free afterwards: a chain of local moves may go
// through all blocks.
bool pull_engine::fill_gaps() {
  const std::size_t chunk = m_.blocks_per_test();
  while (gaps_ != no_slot) {
    if (copied_ >= chunk) return false;
    const slot y = std::exchange(gaps_, linked(gaps_));
    const slot z = need(t_.place[y]).number();
    const need of_z(t_.place[z]);
    const bool parked = of_z.what() == need::kind::aside && of_z.numbered();
    t_.place[y] = parked ? need::make(need::kind::requested, of_z.number()) : need::none;
    if (parked) --parked_, t_.place[z] = need::none;
    m_.map->move(z, y);
    ++copied_;
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

int pull_engine::source_of(std::uint32_t number) {
  const auto s = as_size(last_source_);
  if (number < t_.in_at[s] || number >= t_.in_at[s + 1]) last_source_ = t_.source_of(number);
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

// Adds to the request the block of place x, to be received into slot z. False when the request is full.
bool pull_engine::add(int source, slot x, slot z) {
  const std::uint32_t k = need(t_.place[x]).number();
  const bool follows = !runs_.empty() && runs_.back().end() == z;
  if ((!follows && runs_.size() == (singly_ && reads(source) ? m_.sizes.read : m_.sizes.scattered)) ||
      !list_.add(k - t_.in_at[as_size(source)]))
    return false;
  append(runs_, z, m_.staging());
  if (op_.count++ == 0) op_.first = z;
  t_.place[x] = need::make(need::kind::requested, k);
  if (x == z)
    m_.map->expect_here(z, m_.rank);
  else
    m_.map->expect(z, {m_.rank, x});
  return true;
}

void pull_engine::post_request(int source) {
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
  peer_state& p = pending_[as_size(source)];
  const slot most = std::min(p.waiting, singly_ && reads(source) ? m_.sizes.read : chunk_);
  slot in_a_row = 1;
  for (slot x = p.head; in_a_row < most && linked(x) == x + 1; ++x) ++in_a_row;
  const slot buffer = in_a_row == most || m_.map->units().unit_bytes() >= scattered_bytes ? no_slot : free_buffer(0);
  const bool direct = buffer == no_slot;
  start_request(source);
  const slot first = p.head;
  for (; op_.count < most && add(source, p.head, direct ? p.head : m_.staging() + buffer * chunk_ + op_.count);
       --p.waiting)
    p.head = linked(p.head);
  if (direct) {
    op_.first = first;
    op_.queued = true;
  } else {
    waiting_[buffer] = op_.count;
  }
  post_request(source);
}

// If only a few candidates are known, looks at the places of more blocks, of each source by its share of them. False if
// it did not.
bool pull_engine::find_candidates() {
  const std::size_t most = candidates_.capacity();
  if (2 * known_ > most || known_ == unseen_) return false;
  candidates_.clear();
  for (peer_state& p : pending_) {
    const std::uint64_t share = unseen_ <= most ? p.unseen : (most * p.unseen + unseen_ - 1) / unseen_;
    p.candidates = static_cast<slot>(std::min<std::uint64_t>(share, most - candidates_.size()));
    p.first_candidate = static_cast<slot>(candidates_.size());
    candidates_.resize(candidates_.size() + p.candidates, no_slot);
  }
  known_ = candidates_.size();
  for (slot x = 0; x < m_.blocks(); ++x) {
    if (!wanted(x)) continue;
    const std::uint32_t number = need(t_.place[x]).number();
    const auto s = as_size(source_of(number));
    const peer_state& p = pending_[s];
    const slot k = number - t_.in_at[s];
    const slot later = k >= p.at ? k - p.at : k + (t_.in_at[s + 1] - t_.in_at[s]) - p.at;
    if (later < p.candidates) candidates_[p.first_candidate + later] = x;
  }
  return true;
}

// Requests blocks whose slots are taken, into a buffer, or into free slots that no block is meant for.
bool pull_engine::open_chain() {
  const slot buffer = singly_ ? no_slot : free_buffer(m_.sizes.scatter_buffers);
  if (buffer == no_slot && slack_.count == 0) return false;
  find_candidates();
  do
    for (int tried = 0; tried < m_.ranks; ++tried) {
      const int source = (opener_ + tried) % m_.ranks;
      if (pending_[as_size(source)].candidates > 0 && may_request(source) && open_chain(source, buffer)) return true;
    }
  while (find_candidates());
  return false;
}

// Those of one source. False if no place wants its block.
bool pull_engine::open_chain(int source, slot buffer) {
  const bool staged = buffer != no_slot;
  const slot most = staged ? chunk_ : std::min(chunk_, slack_.count);
  peer_state& p = pending_[as_size(source)];
  start_request(source);
  const slot all = t_.in_at[as_size(source) + 1] - t_.in_at[as_size(source)];
  for (; p.candidates > 0 && op_.count < most; --p.candidates, --p.unseen, --known_, --unseen_) {
    const slot x = candidates_[p.first_candidate];
    if (x != no_slot && wanted(x)) {
      const slot z = staged ? m_.staging() + buffer * chunk_ + op_.count : slack_.head;
      const slot next = linked(z);
      if (!add(source, x, z)) break;
      if (!staged) {
        t_.place[z] = need::make(need::kind::aside, next);
        slack_.head = next;
        --slack_.count;
      }
    }
    ++p.first_candidate;
    if (++p.at == all) p.at = 0;
  }
  if (op_.count == 0) return false;
  if (staged) waiting_[buffer] = op_.count;
  op_.linked = !staged;
  open_ += op_.count;
  opener_ = (source + 1) % m_.ranks;
  post_request(source);
  return true;
}

void pull_engine::arrived(std::uint32_t id) {
  const op got = std::exchange(ops_[id], {});
  --flying_;
  --pending_[as_size(got.source)].requested;
  open_ -= got.count;
  expected_ -= got.count;
  block_map& map = *m_.map;
  slot next = got.first;
  for (slot n = 0; n < got.count; ++n) {
    const slot z = next;
    next = got.queued ? linked(z) : got.linked ? need(t_.place[z]).number() : z + 1;
    if (got.queued) {
      map.settled(z, m_.rank);
      continue;
    }
    const slot x = map[z].index;
    map.arrived(z);
    // The places of staged blocks are scattered in memory, so they are prefetched.
    if (!got.linked && n + ahead < got.count) {
      const slot soon = map[z + ahead].index;
      prefetch(soon);
      __builtin_prefetch(map.units().at(soon), 1);
    }
    if (map.free(x)) {
      t_.place[z] = need::none;
      map.move(z, x);
      ++copied_;
      freed(z);
    } else {
      t_.place[z] = need::make(need::kind::aside, need(t_.place[x]).number());
      t_.place[x] = need::make(need::kind::here, z);
      ++parked_;
    }
  }
}

namespace {

std::size_t slots_bytes(const table_sizes& s) noexcept {
  return targets::order_bytes(s) + block_reader::bytes(s) +
         std::max(pull_engine::bytes(s), block_reader::exchange_bytes(s));
}

task run_slots(machine& m) {
  targets mine(m.memory);
  if (m.known == nullptr) co_await learn_sources(m, mine);
  targets& t = m.known != nullptr ? *m.known : mine;
  std::optional<block_reader> reader;
  if (m.net->reads() && !m.handed_over) {  // and so all blocks are in the array
    reader.emplace(m, t);
    co_await block_reader::exchange_addresses(m, *reader);
  }
  pull_engine engine(m, t, reader ? &*reader : nullptr);
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
seconds cost_of_slots(const redistribution_load& l, const machine_model& m) noexcept {
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
    .cost = cost_of_slots,
};

}  // namespace taquin::detail
