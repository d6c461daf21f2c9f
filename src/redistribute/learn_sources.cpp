#include "redistribute/learn_sources.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory_resource>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "base/sizes.hpp"
#include "mpi/observer.hpp"
#include "mpi/request_set.hpp"
#include "node/internode.hpp"
#include "redistribute/machine.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

int targets::source_of(std::uint32_t number) const {
  return static_cast<int>(std::ranges::upper_bound(in_at, number) - in_at.begin()) - 1;
}

int targets::source_at(slot x) const {
  need n(place[x]);
  const bool here = n.what() == need::kind::here;
  if (here) n = need(place[n.number()]);
  return n.numbered() && (n.what() == need::kind::aside) == here ? source_of(n.number()) : -1;
}

std::vector<std::int32_t> targets::sources(slot blocks) const {
  std::vector<std::int32_t> all(blocks, -1);
  for (slot x = 0; x < blocks && !place.empty(); ++x) all[x] = source_at(x);
  for (std::uint32_t k = 0; k < order.size() && place.empty(); ++k)
    if (order[k] != no_slot) all[order[k]] = source_of(k);
  return all;
}

void targets::list_places() {
  forget_order();
  order.assign(in_at.back(), no_slot);
  for (slot x = 0; x < place.size(); ++x)
    if (const need n(place[x]); n.what() == need::kind::elsewhere) order[n.number()] = x;
  std::pmr::vector<word>(place.get_allocator()).swap(place);
}

void targets::count_own(const block_map& map, std::size_t ranks) {
  for (auto* list : {&out_at, &in_at}) list->assign(ranks + 1, 0);
  map.begins(out_at);
  for (std::size_t r = 0; r < ranks; ++r) out_at[r] = out_at[r + 1] - out_at[r];
  out_at.back() = 0;
}

void targets::list(const block_map& map, listed what) {
  std::pmr::vector<std::uint32_t> next(out_at, out_at.get_allocator());
  order.resize(out_at.back());
  for (slot s = 0; s < map.slots(); ++s) {
    if (map.free(s)) continue;
    const auto to = as_size(map[s].rank);
    if (next[to] < out_at[to + 1]) order[next[to]++] = what == listed::slots ? s : map[s].index;
  }
}

// In place. Block k is for the place that word k names, below 2^30: k is written there as a `need`, and the word that
// it replaces continues the chain, as the name of the place of block x, unless that is a need.
void targets::number_places(const block_map& map, int rank) {
  const auto is_name = [&](slot x) { return place[x] <= need::most; };
  for (std::uint32_t begin = 0; begin < in_at.back(); ++begin) {
    if (!is_name(begin)) continue;
    std::uint32_t number = begin;
    slot x = std::exchange(place[begin], need::none);
    for (;;) {
      const bool more = is_name(x);
      const word before = std::exchange(place[x], need::make(need::kind::elsewhere, number));
      if (!more && before != need::none && !wanted_twice) wanted_twice = clash{x, {need(before).number(), number}};
      if (!more) break;
      number = x;
      x = before;
    }
  }
  for (slot s = 0; s < map.slots() && count(out_at, rank) > 0; ++s)
    if (map[s].rank == rank) place[map[s].index] = need::make(need::kind::here, s);
  learnt = true;
}

std::size_t targets::bytes(const table_sizes& s) noexcept {
  return 2 * (s.ranks + 1) * sizeof(std::uint32_t) + s.slots() * sizeof(word);
}
std::size_t targets::order_bytes(const table_sizes& s) noexcept { return (s.blocks + 1) * sizeof(slot); }
std::size_t learn_sources_bytes(const table_sizes& s) noexcept { return (s.ranks + 1) * sizeof(std::uint32_t); }

task learn_sources(machine& m, targets& t, bool* valid) {
  constexpr std::uint32_t invalid = std::numeric_limits<std::uint32_t>::max();  // for a number of blocks, to all ranks
  const auto p = as_size(m.ranks);
  const block_map& map = *m.map;
  t.count_own(map, p);
  const auto out = std::span(t.out_at).first(p);
  const auto in = std::span(t.in_at).first(p);
  if (valid != nullptr && !*valid) std::ranges::fill(out, invalid);
  co_await m.net->alltoall(out, in);
  if (valid != nullptr) {
    *valid = std::ranges::find(in, invalid) == in.end();
    if (!*valid) co_return;
  }

  // With more blocks than places two blocks go to one place. This already holds for any blocks + 1 of them, so no more
  // are received.
  std::uint64_t space = m.blocks() + 1;
  std::array<std::uint64_t, 1> overfull{std::accumulate(in.begin(), in.end(), std::uint64_t{0}) >= space ? 1U : 0U};
  co_await m.net->sum(overfull);
  t.overfull = overfull[0] > 0;
  if (t.overfull) {
    for (auto& n : in) space -= n = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, space));
    co_await m.net->alltoall(in, out);
  }

  accumulate(t.out_at);
  accumulate(t.in_at);
  t.place.assign(map.slots(), need::none);
  if (m.handed_over) {
    co_await m.net->exchange(map.indices(), t.out_at, t.place, t.in_at, block_map::index_stride);
  } else {
    t.list(map, targets::listed::indices);
    co_await m.net->exchange(t.order, t.out_at, t.place, t.in_at);
    t.list(map, targets::listed::slots);
  }
  t.number_places(map, m.rank);
}

namespace {

// The header of this rank for all: how many blocks each rank gets.
struct target_headers {
  target_headers(const targets& t, std::size_t p, std::pmr::memory_resource* memory) : ranks(memory), counts(memory) {
    ranks.reserve(p);
    counts.reserve(p);
    for (std::size_t r = 0; r < p; ++r) {
      const std::uint32_t n = t.out_at[r + 1] - t.out_at[r];
      if (n == 0) continue;
      ranks.push_back(static_cast<int>(r));
      counts.push_back(static_cast<int>(n));
    }
  }
  std::pmr::vector<int> ranks;
  std::pmr::vector<int> counts;
};

// `t.out_at`, and the indices of blocks in place of `t.order`.
void list_own(const machine& m, targets& t) {
  t.count_own(*m.map, as_size(m.ranks));
  accumulate(t.out_at);
  t.list(*m.map, targets::listed::indices);
  t.place.assign(m.map->slots(), need::none);
}

// Where incoming places are received.
struct arriving {
  targets& t;
  std::size_t most;  // blocks that this rank has places for
  bool placed = false;

  void* take(const sparse_call& call) {
    if (as_size(call.total()) > most) return nullptr;  // two of them go to one place
    std::ranges::fill(t.in_at, 0U);
    for (std::size_t i = 0; i < call.sources().size(); ++i)
      t.in_at[as_size(call.sources()[i]) + 1] += static_cast<std::uint32_t>(call.counts()[i]);
    std::uint32_t sum = 0;
    for (auto& v : t.in_at) v = sum += v;
    placed = true;
    return t.place.data();
  }
};

}  // namespace

std::size_t target_exchange::bytes(const table_sizes& s) noexcept {
  return learn_sources_bytes(s) + 2 * s.ranks * sizeof(int);
}

// Among nodes a rank that has no place receives all blocks without a request, block by block
// (piggybacked_headers::move_rest).
bool target_exchange::suits(mpi::communicator& comm, const channel* node, std::size_t blocks, std::size_t memory) {
  if (comm.size() < 2) return false;
  if (node != nullptr) return true;
  if (!internode::joins_nodes(comm)) return comm.size() >= least_alone;
  const std::size_t peers = as_size(comm.size()) - 1;
  const std::size_t to_refuse = sparse_memory(peers) + mpi::request_set::bytes(2 * peers) + blocks * sizeof(slot);
  return comm.size() >= least_on_nodes && to_refuse <= memory;
}

target_exchange::outcome target_exchange::operator()(const machine& m, targets& t, bool valid, memory_budget& budget) {
  const unobserved part_of_another_call;
  std::optional<target_headers> reported;
  try {
    if (valid) list_own(m, t);
    if (valid) reported.emplace(t, as_size(m.ranks), m.memory);
  } catch (const std::bad_alloc&) {
    valid = false;
  } catch (const budget_exceeded&) {
    valid = false;
  }
  arriving arrived{t, m.blocks()};
  const std::size_t others = budget.used();
  options o;
  o.stats = &done;
  o.timeout = choices.timeout;
  o.on_timeout = choices.on_timeout;
  o.in_flight = choices.in_flight;
  o.memory = memory;
  sparse_blocks blocks{nullptr, {}, {}, MPI_UINT32_T};
  if (reported) blocks = {t.order.data(), reported->ranks, count_view(reported->counts.data()), MPI_UINT32_T};
  try {
    static_cast<void>(sparse_access::make(blocks, running.user_if_there(), o, valid ? nullptr : "an invalid map",
                                          [&arrived](const sparse_call& call) { return arrived.take(call); }));
  } catch (const error& e) {
    if (running.lost()) throw;
    if (!e.collective()) return outcome::not_here;
    return dynamic_cast<const budget_exceeded*>(&e) != nullptr ? outcome::lacking : outcome::refused;
  }
  peak = others + done.peak_memory;
  if (!arrived.placed) return outcome::not_here;
  reported.reset();
  t.list(*m.map, targets::listed::slots);
  t.number_places(*m.map, m.rank);
  return outcome::learnt;
}

}  // namespace taquin::detail
