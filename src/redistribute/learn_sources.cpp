#include "redistribute/learn_sources.hpp"

#include <algorithm>
#include <array>
#include <memory_resource>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/sparse/algorithm.hpp"
#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "mpi/observer.hpp"
#include "mpi/request_set.hpp"
#include "node/internode.hpp"
#include "taquin/error.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

namespace {

// The messages of this rank to the others.
struct reported_counts {
  explicit reported_counts(std::pmr::memory_resource* memory) : counts(memory), places(memory) {}
  std::pmr::vector<std::uint32_t> counts;  // of blocks for each rank
  std::pmr::vector<word> places;           // of the blocks in targets::order

  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&reported_counts::counts, s.ranks);
    each(&reported_counts::places, s.outgoing);
  }
};

// The same for a sparse exchange.
struct reported_targets {
  explicit reported_targets(std::pmr::memory_resource* memory) : ranks(memory), counts(memory), places(memory) {}
  std::pmr::vector<int> ranks;   // that get blocks of this one
  std::pmr::vector<int> counts;  // of blocks for each of them
  std::pmr::vector<word> places;

  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&reported_targets::ranks, at_most{std::min(s.ranks, s.outgoing)});
    each(&reported_targets::counts, at_most{std::min(s.ranks, s.outgoing)});
    each(&reported_targets::places, s.outgoing);
  }
};

// Leaves out the last blocks of each rank's part of the order and of the places, so that `reported.counts` are left.
void shorten(targets& t, reported_counts& reported) {
  std::uint32_t end = 0;
  for (std::size_t r = 0; r < reported.counts.size(); ++r) {
    std::uint32_t from = std::exchange(t.out_at[r], end);
    for (const std::uint32_t last = end + reported.counts[r]; end < last; ++end, ++from) {
      t.order[end] = t.order[from];
      reported.places[end] = reported.places[from];
    }
  }
  t.out_at.back() = end;
  reported.places.resize(end);
}

}  // namespace

std::size_t list_own(const machine& m, targets& t, std::pmr::vector<word>* places) {
  const block_map& map = *m.map;
  array_list::take(t, table_sizes{.ranks = as_size(m.ranks)});
  const std::size_t stay = map.begins(t.out_at, m.rank);
  t.order.resize(t.out_at.back());
  if (places != nullptr) places->resize(t.out_at.back());
  map.deal(t.out_at, m.rank, [&](std::uint32_t k, slot s) {
    t.order[k] = s;
    if (places != nullptr) (*places)[k] = map[s].index;
  });
  return stay;
}

std::size_t learn_sources_bytes(const table_sizes& s) noexcept { return array_list::bytes<reported_counts>(s); }

task learn_sources(machine& m, targets& t, bool* valid) {
  constexpr std::uint32_t invalid = ~std::uint32_t{0};  // instead of a number of blocks, to all ranks
  const auto p = as_size(m.ranks);
  reported_counts reported(m.memory);
  array_list::take(reported, table_sizes{.ranks = p});
  const std::size_t stay = list_own(m, t, &reported.places);
  for (std::size_t r = 0; r < p; ++r)
    reported.counts[r] = valid == nullptr || *valid ? t.out_at[r + 1] - t.out_at[r] : invalid;
  const auto in = std::span(t.in_at).first(p);
  co_await m.net->alltoall(reported.counts, in);
  if (valid != nullptr) {
    *valid = std::ranges::find(in, invalid) == in.end();
    if (!*valid) co_return;
  }

  // With more blocks than places two blocks go to one place. This already holds for any blocks + 1 of them, so no more
  // are received.
  std::uint64_t room = m.blocks() + 1 - stay;
  std::array<std::uint64_t, 1> overfull{std::accumulate(in.begin(), in.end(), std::uint64_t{0}) >= room ? 1U : 0U};
  co_await m.net->sum(overfull);
  t.overfull = overfull[0] > 0;
  if (t.overfull) {
    for (auto& n : in) room -= n = static_cast<std::uint32_t>(std::min<std::uint64_t>(n, room));
    co_await m.net->alltoall(in, reported.counts);
    shorten(t, reported);
  }

  std::exclusive_scan(t.in_at.begin(), t.in_at.end(), t.in_at.begin(), 0U);
  array_list::take(t, m.tables(t));
  co_await m.net->exchange(reported.places, t.out_at, t.index, t.in_at);
  t.learnt = true;
}

namespace {

// Where incoming places are received.
struct arriving {
  targets& t;
  std::size_t most;  // blocks that this rank has places for
  bool placed = false;

  void* take(const sparse_call& call) {
    if (as_size(call.total()) > most) return nullptr;  // two of them go to one place
    t.index.resize(as_size(call.total()));
    std::ranges::fill(t.in_at, 0U);
    for (std::size_t i = 0; i < call.sources().size(); ++i)
      t.in_at[as_size(call.sources()[i]) + 1] += static_cast<std::uint32_t>(call.counts()[i]);
    std::uint32_t sum = 0;
    for (auto& v : t.in_at) v = sum += v;
    placed = true;
    return t.index.data();
  }
};

}  // namespace

std::size_t target_exchange::bytes(const table_sizes& s) noexcept { return array_list::bytes<reported_targets>(s); }

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
  reported_targets reported(m.memory);
  std::size_t stay = 0;
  try {
    if (valid) {
      stay = list_own(m, t, &reported.places);
      array_list::take(reported, table_sizes{.ranks = as_size(m.ranks), .outgoing = t.order.size()});
    }
    for (std::size_t r = 0; r + 1 < t.out_at.size(); ++r)
      if (const std::uint32_t n = t.out_at[r + 1] - t.out_at[r]; n > 0) {
        reported.ranks.push_back(static_cast<int>(r));
        reported.counts.push_back(static_cast<int>(n));
      }
  } catch (const std::bad_alloc&) {
    valid = false;
  } catch (const budget_exceeded&) {
    valid = false;
  }
  arriving arrived{t, m.blocks() - std::min<std::size_t>(stay, m.blocks())};
  const std::size_t others = budget.used() + arrived.most * sizeof(slot);
  options o;
  o.stats = &done;
  o.timeout = choices.timeout;
  o.on_timeout = choices.on_timeout;
  o.in_flight = choices.in_flight;
  o.memory = memory;
  const sparse_blocks blocks{reported.places.data(), reported.ranks, count_view(reported.counts.data()), MPI_UINT32_T};
  try {
    static_cast<void>(sparse_access::make(blocks, running.user_if_there(), o, valid ? nullptr : "an invalid map",
                                          [&arrived](const sparse_call& call) { return arrived.take(call); }));
  } catch (const error& e) {
    if (running.lost()) throw;
    if (!e.collective()) return outcome::not_here;
    return dynamic_cast<const budget_exceeded*>(&e) != nullptr ? outcome::lacking : outcome::refused;
  }
  peak = others + done.peak_memory;
  t.learnt = arrived.placed;
  return arrived.placed ? outcome::learnt : outcome::not_here;
}

}  // namespace taquin::detail
