#include "redistribute/pushed.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "redistribute/learn_sources.hpp"

namespace taquin::detail {

namespace {

constexpr word most_counted = 0xff;  // a count is a byte; this one means that the rank's map is invalid
constexpr std::size_t counts_in_word = sizeof(word);

// The headers that ranks send to each other, a row for each rank: how many blocks its sender has for every rank, and
// the places of those for the receiver.
struct rows {
  rows(std::size_t ranks, std::size_t most, const buffer_sizes& s, std::pmr::memory_resource* memory)
      : length(head(ranks) + most), out(memory), in(memory), runs(memory) {
    array_list::take(*this, ranks, most, s);
  }
  static constexpr std::size_t head(std::size_t ranks) { return (ranks + counts_in_word - 1) / counts_in_word; }

  std::size_t length;
  std::pmr::vector<word> out;
  std::pmr::vector<word> in;
  std::pmr::vector<unit_run> runs;  // of a message that leaves

  template <class Each>
  static constexpr void arrays(Each each, std::size_t ranks, std::size_t most, const buffer_sizes& s) {
    each(&rows::out, ranks * (head(ranks) + most));
    each(&rows::in, ranks * (head(ranks) + most));
    each(&rows::runs, at_most{s.chunk});
  }

  // For rank `to`.
  [[nodiscard]] std::span<word> row(std::size_t to) { return std::span(out).subspan(to * length, length); }
  // Blocks that `from` has for `to`.
  [[nodiscard]] word count(std::size_t from, std::size_t to) const {
    return in[from * length + to / counts_in_word] >> (8 * (to % counts_in_word)) & most_counted;
  }
  [[nodiscard]] const word* places(std::size_t ranks, std::size_t from) const {
    return in.data() + from * length + head(ranks);
  }
};

// `t.out_at` and `t.order` are made along with it.
void report(const machine& m, targets& t, bool valid, rows& all) {
  const auto p = as_size(m.ranks);
  const auto self = as_size(m.rank);
  const block_map& map = *m.map;
  const std::size_t head = rows::head(p);
  if (!valid) {
    for (std::size_t r = 0; r < p; ++r) std::ranges::fill(all.row(r).first(head), ~word{0});
    return;
  }
  t.count_own(map, p);
  for (std::size_t r = 0; r < p; ++r)
    for (std::size_t to = 0; to < p; ++to)
      all.row(r)[to / counts_in_word] |= t.out_at[to] << (8 * (to % counts_in_word));
  t.out_at[self] = 0;
  accumulate(t.out_at);
  t.list(map, targets::listed::slots);
  for (std::size_t to = 0; to < p; ++to)
    for (std::uint32_t k = t.out_at[to]; k < t.out_at[to + 1]; ++k)
      all.row(to)[head + k - t.out_at[to]] = map[t.order[k]].index;
}

// Every rank finds the same: no map is invalid, and no rank receives more blocks than it has places.
bool fit(const rows& all, std::span<const count_t> blocks) {
  for (std::size_t from = 0; from < blocks.size(); ++from)
    if (all.count(from, 0) == most_counted) return false;
  for (std::size_t to = 0; to < blocks.size(); ++to) {
    count_t arrived = 0;
    for (std::size_t from = 0; from < blocks.size(); ++from) arrived += all.count(from, to);
    if (arrived > blocks[to]) return false;
  }
  return true;
}

// The incoming blocks; whether each has a place of its own.
bool learn(const machine& m, const rows& all, targets& t) {
  const auto p = as_size(m.ranks);
  const auto self = as_size(m.rank);
  for (std::size_t from = 0; from < p; ++from) t.in_at[from] = from == self ? 0 : all.count(from, self);
  accumulate(t.in_at);
  t.place.assign(m.map->slots(), need::none);
  bool good = true;
  const auto take = [&](slot x, word what) { good = std::exchange(t.place[x], what) == need::none && good; };
  for (slot s = 0; s < m.blocks(); ++s)
    if ((*m.map)[s].rank == m.rank) take((*m.map)[s].index, need::make(need::kind::here, s));
  for (std::size_t from = 0; from < p; ++from)
    for (std::uint32_t k = t.in_at[from]; k < t.in_at[from + 1]; ++k)
      take(all.places(p, from)[k - t.in_at[from]], need::make(need::kind::elsewhere, k));
  t.learnt = true;
  return good;
}

// The number of transfers that were posted.
int receive_all(machine& m, const rows& all, const targets& t) {
  int started = 0;
  slot z = m.staging();
  for (int from = 0; from < m.ranks; ++from) {
    const word* index = all.places(as_size(m.ranks), as_size(from));
    const word* const end = index + (t.in_at[as_size(from) + 1] - t.in_at[as_size(from)]);
    for (; index != end; ++started) {
      const slot n = std::min(static_cast<slot>(end - index), m.sizes.chunk);
      const slot_range into{z, n};
      for (slot i = 0; i < n; ++i) m.map->expect(z++, {m.rank, *index++});
      m.net->receive(from, into.units(), 0);
    }
  }
  m.net->post_now();
  return started;
}

// The number of transfers that are not complete.
int send_all(machine& m, const targets& t, rows& all) {
  int started = 0;
  for (int d = 1; d < m.ranks; ++d) {
    const int to = (m.rank + d) % m.ranks;
    const std::uint32_t end = t.out_at[as_size(to) + 1];
    for (std::uint32_t k = t.out_at[as_size(to)]; k < end;) {
      all.runs.clear();
      for (const std::uint32_t last = k + std::min(end - k, m.sizes.chunk); k < last;)
        append(all.runs, t.order[k++], m.staging());
      if (!m.net->send(to, all.runs, 0)) ++started;
    }
  }
  return started;
}

std::size_t memory(std::size_t ranks, std::size_t most, const buffer_sizes& s) noexcept {
  const table_sizes t{.ranks = ranks, .blocks = most, .buffers = s};
  return targets::order_bytes(t) + learn_sources_bytes(t) + array_list::bytes<rows>(ranks, most, s);
}

}  // namespace

bool pushed_blocks::suit(std::span<const count_t> blocks, const buffer_sizes& s) noexcept {
  const std::size_t p = blocks.size();
  const auto most = as_size(*std::ranges::max_element(blocks));
  if (p < 2 || s.gated || most >= most_counted || most >= s.staging_slots()) return false;
  return memory(p, most, s) <= find_redistribution("slots")->memory({.ranks = p, .blocks = most, .buffers = s});
}

task pushed_blocks::run(machine& m, targets& t, std::span<const count_t> blocks, bool valid, bool& done) {
  const auto p = as_size(m.ranks);
  done = false;
  rows all(p, as_size(*std::ranges::max_element(blocks)), m.sizes, m.memory);
  report(m, t, valid, all);
  co_await m.net->alltoall(all.out, all.in, static_cast<std::uint32_t>(all.length));
  if (!fit(all, blocks)) co_return;
  std::array<std::uint64_t, 1> clashes{learn(m, all, t) ? 0U : 1U};
  int pending = receive_all(m, all, t);
  pending += send_all(m, t, all);
  co_await m.net->maximum(clashes);
  for (; pending > 0; --pending)
    if (const event e = co_await m.net->next_transfer(); e.what == event::kind::arrived) m.map->arrived(e.units);
  ++m.rounds;
  if (clashes[0] > 0) {
    t.learnt = false;
    m.map->clear(slot_range{m.staging(), m.map->slots() - m.staging()}.units());
    co_return;
  }
  for (const slot s : t.order) m.map->clear(s);
  co_await put_in_place(m);
  done = true;
}

}  // namespace taquin::detail
