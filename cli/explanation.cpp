#include "cli/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/level_choice.hpp"
#include "algorithms/nodes/piggybacked_exchange.hpp"
#include "algorithms/nodes/shared_exchange.hpp"
#include "base/sizes.hpp"
#include "cli/node_flags.hpp"
#include "harness/offline.hpp"
#include "harness/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator.hpp"
#include "mpi/owned.hpp"
#include "node/blocking_channel.hpp"
#include "node/channel.hpp"
#include "node/detect.hpp"
#include "node/internode.hpp"
#include "plan/plan_state.hpp"
#include "workloads/shapes.hpp"

namespace taquin::cli {

using detail::algorithm;
using detail::shape;

placement placement::of_world() {
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  placement p{.nodes = detail::nodes_of(comm, {})->topology, .here = true};
  p.cores = static_cast<int>(std::thread::hardware_concurrency());
  const detail::channel* const node = comm.size() > 1 ? detail::blocking_channel(MPI_COMM_WORLD) : nullptr;
  p.shared = comm.size() > 1 ? node != nullptr : p.nodes.nodes().groups() == 1;
  p.single_copies = node != nullptr ? node->single_copies() : p.shared;
  const detail::internode* const step = node == nullptr ? detail::internode::get_or_create(comm) : nullptr;
  if (step == nullptr) return p;
  p.step_bytes = step->most_bytes();
  p.step_share = step->share();
  TAQUIN_MPI(PMPI_Allreduce(MPI_IN_PLACE, &p.step_share, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD));
  return p;
}

placement placement::of(detail::topology given) {
  placement p{.nodes = std::move(given), .cores = static_cast<int>(std::thread::hardware_concurrency())};
  const detail::level& nodes = p.nodes.nodes();
  p.shared = p.single_copies = nodes.groups() == 1;
  const auto ranks = static_cast<int>(nodes.ranks.size());
  if (p.shared || !detail::internode::suits(ranks, nodes.groups(), nodes.largest(), nodes.smallest())) return p;
  p.step_bytes = detail::internode::most_bytes_of(ranks, nodes.largest());
  p.step_share = detail::internode::most_share_of(nodes);
  return p;
}

std::string placement::words() const { return words_of(nodes, cores); }

const algorithm* explanation::chosen() const {
  const algorithm* const a = taken.what;
  if (a == nullptr || taken.why == detail::decision::reason::step) return a;
  return a->memory(shape, {}) <= left ? a : nullptr;
}

namespace {

// Types of an alltoallw of which a rank keeps the figures.
std::size_t types_of(const shape& s) noexcept {
  return s.kind == exchange::form::alltoallw ? detail::elements_of_types(s.in_place && s.symmetric, s.ranks) : 0;
}

// Of one rank, from its own block on.
using row = std::vector<count_t>;

std::uint64_t sum_of(const row& r) {
  return static_cast<std::uint64_t>(std::accumulate(r.begin(), r.end(), count_t{0}));
}

// Whether every rank brings its blocks to the step on a node.
bool fits_node_step(const std::vector<row>& rows, const shape& s, std::size_t limit) {
  const std::size_t space = std::min(limit, detail::channel::default_payload_bytes(s.ranks));
  return std::ranges::all_of(
      rows, [&](const row& r) { return detail::shared_exchange::possible_for(r, s.in_place, s.single_copies, space); });
}

// The same to the step between nodes, whose longest block the shape has.
bool fits_step_between(const std::vector<row>& rows, const shape& s, std::size_t share, std::size_t limit) {
  const options o;
  if (!s.in_place && share > limit) return false;
  if (s.largest_node == 1 && s.nodes - 1 > detail::in_flight_of(o)) return false;
  const bool fit = std::ranges::all_of(rows, [&](const row& r) {
    return detail::piggybacked_exchange::short_enough(static_cast<std::uint64_t>(std::ranges::max(r)),
                                                      sum_of(r) / r.size(), s.kind, s.in_place, s.piggybacked_block);
  });
  return fit && detail::node_aggregated.supports(s) && detail::piggybacked_exchange::footprint(s) <= limit;
}

// The step that carries the blocks of a blocking call; sets what the shape says of it.
const algorithm* step_of(const std::vector<row>& rows, const placement& on, const explanation& e, shape& s) {
  const std::size_t limit =
      e.limit == unlimited ? unlimited : e.limit - std::min(e.limit, types_of(s) * sizeof(element));
  if (s.ranks == 1) return nullptr;
  if (on.shared) return fits_node_step(rows, s, limit) ? &detail::shared_memory : nullptr;
  s.piggybacked_block = on.step_bytes;
  if (on.step_bytes > 0 && fits_step_between(rows, s, on.step_share, e.left)) return &detail::node_aggregated;
  s.piggybacked_block = 0;
  return nullptr;
}

// Whether the profile agrees with the step, as each rank asks it before ranks agree: by its own sizes.
bool all_use_step(const std::vector<row>& rows, const shape& all, std::size_t limit, const detail::profile& p,
                  const algorithm* step) {
  const std::size_t ranks = rows.front().size();
  if (!p.given || rows.size() < ranks) return true;
  std::vector<std::uint64_t> received(ranks);
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t k = 0; k < ranks; ++k) received[(from + k) % ranks] += static_cast<std::uint64_t>(rows[from][k]);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto [low, high] = std::ranges::minmax(rows[rank]);
    shape mine = all;
    mine.min_block_bytes = static_cast<std::uint64_t>(low);
    mine.max_block_bytes = static_cast<std::uint64_t>(high);
    mine.max_rank_bytes = sum_of(rows[rank]);
    mine.max_received_bytes = received[rank];
    mine.uniform = low == high;
    mine.memory_limit = unlimited;
    if (mine.shared) mine.one_unit = false;
    if (mine.shared) mine.unit_size = 0;
    if (detail::decide(mine, {}, false, limit, p, step).why != detail::decision::reason::step) return false;
  }
  return true;
}

bool any_moves(const std::vector<row>& rows) {
  return std::ranges::any_of(rows, [](const row& r) { return std::any_of(r.begin() + 1, r.end(), std::identity{}); });
}

explanation explain(shape s, const std::vector<row>& rows, bool persistent, std::size_t limit, const placement& on,
                    const detail::profile& p) {
  const std::size_t types = types_of(s) * (sizeof(element) + sizeof(mpi::datatype));
  explanation e{.limit = limit, .left = limit == unlimited ? unlimited : limit - std::min(limit, types)};
  e.profile_given = p.given;
  s.memory_limit = e.left;
  detail::describe(on.nodes, s);
  s.shared = on.shared;
  s.single_copies = on.single_copies;
  options o;
  const detail::level_names levels = detail::choose_levels(s, o, p.model);
  if (detail::any_automatic(o.multilevel.levels)) o.multilevel.levels = levels.view();
  const algorithm* step = persistent ? nullptr : step_of(rows, on, e, s);
  if (step != nullptr && !all_use_step(rows, s, limit, p, step)) {
    step = nullptr;
    s.piggybacked_block = 0;
  }
  e.shape = s;
  if (types > limit)
    e.taken = {};
  else if (detail::stays_local(s, persistent, any_moves(rows)))
    e.taken = {.what = &detail::spread_out};
  else
    e.taken = detail::decide(s, o, persistent, e.left, p, step);
  e.by_rule = detail::ruled(s, o, persistent, e.left, p, step) != nullptr;
  if (e.taken.why != detail::decision::reason::step) e.shape.piggybacked_block = 0;
  e.all = detail::candidates(e.shape, o, persistent, p);
  return e;
}

}  // namespace

explanation explain(const question& q, const std::string& memory, const placement& on, const detail::profile& p) {
  constexpr int most_examined = 4096;  // beyond that, 16 ranks stand for all
  const shape s = harness::offline_shape(q.workload, q.size, q.kind, q.how);
  std::vector<row> rows;
  const int step = q.size.ranks <= most_examined ? 1 : q.size.ranks / 16;
  for (int rank = 0; rank < q.size.ranks; rank += step) {
    rows.push_back(q.workload.row(q.size, rank));
    std::rotate(rows.back().begin(), rows.back().begin() + rank, rows.back().end());
  }
  const std::size_t limit = harness::memory_choice::parse(memory).limit(static_cast<count_t>(s.max_rank_bytes));
  return explain(s, rows, q.persistent, limit, on, p);
}

explanation explain(const workloads::traffic& t, const workloads::recorded_call& call, bool persistent,
                    std::size_t limit, const placement& on, const detail::profile& p) {
  const shape s = workloads::shape_of(t, call);
  const auto ranks = detail::as_size(s.ranks);
  std::vector<row> rows(ranks, row(ranks));
  for (const auto& f : t.matrices[call.matrix].flows())
    rows[detail::as_size(f.from)][(detail::as_size(f.to) + ranks - detail::as_size(f.from)) % ranks] = f.bytes;
  return explain(s, rows, persistent, limit, on, p);
}

}  // namespace taquin::cli
