#include "redistribute/sparse_targets.hpp"

#include <algorithm>
#include <memory_resource>
#include <new>
#include <optional>
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
  const auto p = as_size(m.ranks);
  for (auto* list : {&t.out_at, &t.in_at}) list->assign(p + 1, 0);
  m.map->count(std::span(t.out_at).first(p));
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
  std::optional<target_headers> told;
  try {
    if (valid) list_own(m, t);
    if (valid) told.emplace(t, as_size(m.ranks), m.memory);
  } catch (const std::bad_alloc&) {
    valid = false;
  } catch (const budget_exceeded&) {
    valid = false;
  }
  arriving come{t, m.blocks()};
  const std::size_t others = budget.used();
  options o;
  o.stats = &done;
  o.timeout = choices.timeout;
  o.on_timeout = choices.on_timeout;
  o.in_flight = choices.in_flight;
  o.memory = memory;
  sparse_blocks blocks{nullptr, {}, {}, MPI_UINT32_T};
  if (told) blocks = {t.order.data(), told->ranks, count_view(told->counts.data()), MPI_UINT32_T};
  try {
    static_cast<void>(sparse_access::make(blocks, running.user_if_there(), o, valid ? nullptr : "an invalid map",
                                          [&come](const sparse_call& call) { return come.take(call); }));
  } catch (const error& e) {
    if (running.lost()) throw;
    if (!e.collective()) return outcome::not_here;
    return dynamic_cast<const budget_exceeded*>(&e) != nullptr ? outcome::lacking : outcome::refused;
  }
  peak = others + done.peak_memory;
  if (!come.placed) return outcome::not_here;
  told.reset();
  t.list(*m.map, targets::listed::slots);
  t.number_places(*m.map, m.rank);
  return outcome::learnt;
}

}  // namespace taquin::detail
