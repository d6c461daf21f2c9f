#include "redistribute/sparse_targets.hpp"

#include <algorithm>
#include <memory_resource>
#include <new>
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

// The header of this rank for the others.
struct target_headers {
  explicit target_headers(std::pmr::memory_resource* memory) : ranks(memory), counts(memory), index(memory) {}
  std::pmr::vector<int> ranks;   // that get blocks of this one
  std::pmr::vector<int> counts;  // of blocks for each of them
  std::pmr::vector<word> index;  // of the blocks in targets::order

  template <class Each>
  static constexpr void arrays(Each each, const table_sizes& s) {
    each(&target_headers::ranks, at_most{std::min(s.ranks, s.outgoing)});
    each(&target_headers::counts, at_most{std::min(s.ranks, s.outgoing)});
    each(&target_headers::index, s.outgoing);
  }
};

// `t.out_at`, `t.order` and this rank's header. Returns how many blocks stay.
std::size_t list_own(const machine& m, targets& t, target_headers& told) {
  const auto p = as_size(m.ranks);
  const auto self = as_size(m.rank);
  const block_map& map = *m.map;
  array_list::take(t, table_sizes{.ranks = p});
  const auto out = std::span(t.out_at).first(p);
  map.count(out);
  const std::size_t stay = std::exchange(out[self], 0);
  std::uint32_t sum = 0;
  for (auto& v : t.out_at) sum += std::exchange(v, sum);
  t.order.resize(sum);
  array_list::take(told, table_sizes{.ranks = p, .outgoing = sum});
  for (std::size_t r = 0; r < p; ++r) {
    const std::uint32_t n = t.out_at[r + 1] - t.out_at[r];
    if (n == 0) continue;
    told.ranks.push_back(static_cast<int>(r));
    told.counts.push_back(static_cast<int>(n));
  }
  // Writing moves each begin to the end of its part, which is the begin of the next one.
  for (slot s = 0; s < map.slots(); ++s) {
    if (map.free(s) || map[s].rank == m.rank) continue;
    const std::uint32_t at = t.out_at[as_size(map[s].rank)]++;
    t.order[at] = s;
    told.index[at] = map[s].index;
  }
  std::rotate(t.out_at.begin(), t.out_at.end() - 1, t.out_at.end());
  t.out_at.front() = 0;
  return stay;
}

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

std::size_t target_exchange::bytes(const table_sizes& s) noexcept { return array_list::bytes<target_headers>(s); }

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
  target_headers told(m.memory);
  std::size_t stay = 0;
  try {
    if (valid) stay = list_own(m, t, told);
  } catch (const std::bad_alloc&) {
    valid = false;
  } catch (const budget_exceeded&) {
    valid = false;
  }
  arriving come{t, m.blocks() - std::min<std::size_t>(stay, m.blocks())};
  const std::size_t others = budget.used() + come.most * sizeof(slot);
  options o;
  o.stats = &done;
  o.timeout = choices.timeout;
  o.on_timeout = choices.on_timeout;
  o.in_flight = choices.in_flight;
  o.memory = memory;
  const sparse_blocks blocks{told.index.data(), told.ranks, count_view(told.counts.data()), MPI_UINT32_T};
  try {
    static_cast<void>(sparse_access::make(blocks, running.user_if_there(), o, valid ? nullptr : "an invalid map",
                                          [&come](const sparse_call& call) { return come.take(call); }));
  } catch (const error& e) {
    if (running.lost()) throw;
    if (!e.collective()) return outcome::not_here;
    return dynamic_cast<const budget_exceeded*>(&e) != nullptr ? outcome::lacking : outcome::refused;
  }
  peak = others + done.peak_memory;
  t.learnt = come.placed;
  return come.placed ? outcome::learnt : outcome::not_here;
}

}  // namespace taquin::detail
