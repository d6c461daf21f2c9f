// node_aggregated: one message per pair of nodes.
//
// Source:  aggregation within nodes, as MPI libraries do with a leader; here all ranks of a node share the work, or the
//          first `leaders` of them: the d-th node after this one is served by local rank (d − 1) mod n, or mod
//          `leaders`.
// Rounds:  3 in each pass: gather in the node, one message per pair of nodes, scatter in the node. The first and the
//          last are copies through memory that the node's ranks share, or messages where they cannot share memory. One
//          pass serves as many nodes as the memory limit allows. Equal blocks travel in several messages where MPI
//          libraries would use rendezvous for one.
// Bytes:   between nodes each block once; inside nodes two copies, or up to two messages.
// Memory:  what passes through a rank in a pass of d nodes of n ranks: at most 2dn blocks, as its share of the node's
//          memory; without shared memory 4(d + n)·n blocks, or 4dn² with one leader. Irregular exchanges also have a
//          table of n(p + N) sizes.
// Limits:  separate buffers.
// Wins:    small blocks, several ranks per node: n² messages become one, and each rank waits twice. With one rank per
//          node, or on one node, it is spread_out.
#include "algorithms/nodes/node_aggregated.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/piggybacked_exchange.hpp"
#include "base/memory_charge.hpp"
#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "node/detect.hpp"
#include "schedule/executor.hpp"

namespace taquin::detail {

namespace {

// A rank's share of a node's memory. Larger exchanges are faster by other algorithms.
constexpr std::size_t most_shared = std::size_t{4} << 20U;

// The sizes that the ranks of a node send and receive: this rank's, those of all, and the same by node and by rank.
struct size_tables {
  size_tables(std::size_t members, std::size_t groups, std::size_t ranks, std::pmr::memory_resource* memory)
      : mine(memory), all(memory), to_node(memory), from(memory) {
    array_list::take(*this, members, groups, ranks);
  }
  template <class Each>
  static constexpr void arrays(Each each, std::size_t members, std::size_t groups, std::size_t ranks) {
    each(&size_tables::mine, groups + ranks);
    each(&size_tables::all, members * (groups + ranks));
    each(&size_tables::to_node, at_most{members * groups});
    each(&size_tables::from, at_most{members * ranks});
  }
  std::pmr::vector<count_t> mine;
  std::pmr::vector<count_t> all;
  std::pmr::vector<count_t> to_node;
  std::pmr::vector<count_t> from;
};

std::size_t table_bytes(const shape& s) noexcept {
  if (s.uniform) return 0;
  return array_list::bytes<size_tables>(as_size(s.largest_node), as_size(s.nodes), as_size(s.ranks));
}

std::size_t footprint(const shape& s, const aggregation& how) noexcept {
  const aggregated_size size = size_of_aggregated(s, how);
  return executor::footprint(size.parts, size.scratch, size.staging) + table_bytes(s) +
         2 * as_size(s.largest_node) * sizeof(region);
}

}  // namespace

bool nothing_to_gather(const shape& s) noexcept { return s.nodes <= 1 || s.largest_node <= 1; }

aggregation aggregation_by_messages(const shape& s, const options& o) noexcept {
  const auto serving = [&](int distances) { return aggregation{distances, o.node_aggregated.leaders}; };
  aggregation least = serving(std::max(s.nodes - 1, 1));
  for (int d = least.distances;; d = (d + 1) / 2) {
    if (footprint(s, serving(d)) <= s.memory_limit) return serving(d);
    if (footprint(s, serving(d)) < footprint(s, least)) least = serving(d);
    if (d == 1) return least;
  }
}

namespace {

// An executor, and the node's memory that it works on, counted in the budget by the rank's share.
class aggregated_operation final : public operation {
 public:
  /// Takes ownership of `own`, or uses `lent`, which outlives it.
  aggregated_operation(schedule&& s, execution where, shared_scratch own, shared_scratch* lent, std::size_t share,
                       memory_budget* budget)
      : share_(*budget, share), own_(std::move(own)) {
    where.shared = lent != nullptr ? lent : &own_;
    moves_.emplace(std::move(s), where, budget);
  }

  void start() override { moves_->start(); }
  bool test() override { return moves_->test(); }
  void wait() override { moves_->wait(); }
  void account(statistics& s) const override { moves_->account(s); }

 private:
  memory_charge share_;
  shared_scratch own_;
  std::optional<executor> moves_;
};

std::size_t shared_footprint(const shape& s, const aggregation& how) noexcept {
  const aggregated_size size = size_of_shared(s, how);
  return sizeof(aggregated_operation) + executor::footprint(size.parts, size.scratch + shared_scratch::overhead) +
         table_bytes(s) + as_size(s.largest_node) * sizeof(region);
}

}  // namespace

aggregation aggregation_through_memory(const shape& s, const options& o) noexcept {
  if (!s.nodes_share) return {0, o.node_aggregated.leaders};
  for (int d = std::max(s.nodes, 1);; d = (d + 1) / 2) {
    const aggregation how{d, o.node_aggregated.leaders};
    if (size_of_shared(s, how).scratch <= most_shared && shared_footprint(s, how) <= s.memory_limit) return how;
    if (d == 1) return {0, how.leaders};
  }
}

namespace {

// In place it serves only exchanges that a step among nodes carries completely before anything is received. Types are
// restricted as in the algorithms in place, so that this does not depend on the sizes.
bool node_aggregated_supports(const shape& s) noexcept {
  return separate_buffers(s) || (!s.inter && s.carries() && (s.one_unit || s.max_rank_bytes == 0));
}

// Where ranks cannot share memory they send messages.
std::size_t memory_of_node_aggregated(const shape& s, const options& o) noexcept {
  if (nothing_to_gather(s)) return spread_out.memory(s, o);
  if (s.in_place) return piggybacked_exchange::footprint(s);
  const aggregation shared = aggregation_through_memory(s, o);
  const std::size_t piggybacked = s.carries() ? piggybacked_exchange::footprint(s) : 0;
  return std::max({footprint(s, aggregation_by_messages(s, o)), shared.distances > 0 ? shared_footprint(s, shared) : 0,
                   piggybacked});
}

// The node's ranks publish once to each other the bytes that they send and receive.
node_traffic exchange_traffic(const exchange& x, const context& c, const level& nodes,
                              std::pmr::memory_resource* memory) {
  const int node = nodes.group[as_size(c.comm->rank())];
  if (c.shape->uniform) return {nodes, node, static_cast<count_t>(c.shape->max_block_bytes), memory};
  const auto n = as_size(nodes.size(node));
  const auto groups = as_size(nodes.groups());
  const auto p = as_size(c.comm->size());
  size_tables tables(n, groups, p, memory);
  auto& [mine, all, to_node, from] = tables;
  for (int rank = 0; rank < c.comm->size(); ++rank) {
    mine[as_size(nodes.group[as_size(rank)])] += x.send[rank].bytes();
    mine[groups + as_size(rank)] = x.recv[rank].bytes();
  }
  mpi::allgather(std::span<const count_t>(mine), std::span(all), c.nodes->local.get());
  for (std::size_t i = 0; i < n; ++i) {
    const count_t* first = all.data() + i * mine.size();
    to_node.insert(to_node.end(), first, first + groups);
    from.insert(from.end(), first + groups, first + mine.size());
  }
  return {nodes, node, std::move(to_node), std::move(from)};
}

// Null, on all ranks, if ranks of a node cannot share memory.
operation_ptr prepare_shared(const exchange& x, const local_exchange& local, const context& c,
                             const node_traffic& traffic, memory_budget& budget) {
  const aggregation how = aggregation_through_memory(*c.shape, *c.opts);
  const node_view& view = *c.nodes;
  if (how.distances == 0 || !view.shares) return nullptr;
  const level& nodes = view.topology.nodes();
  const auto size = as_size(nodes.size(nodes.group[as_size(local.rank)]));
  schedule s = build_shared(local, nodes, traffic, how, &budget);
  shared_scratch own;
  if (c.reused) {
    if (size > 1) own = shared_scratch::make(view.local.get(), s.shared_bytes);
    // Both nodes of a pair must use the same kind of messages.
    view.shares = mpi::holds_everywhere(size == 1 || !own.empty(), c.comm->get());
  } else if (const auto share = std::max<std::size_t>(size_of_shared(*c.shape, how).scratch, 1);
             share > view.blocking_share) {
    view.blocking = shared_scratch();
    if (size > 1) view.blocking = shared_scratch::make(view.local.get(), share * size);
    view.blocking_share = share;
    view.shares = mpi::holds_everywhere(size == 1 || !view.blocking.empty(), c.comm->get());
  }
  if (!view.shares) return nullptr;
  const execution where = execution_of(x, c);
  if (size == 1) return make_operation<executor>(budget, std::move(s), where, &budget);
  shared_scratch* lent = c.reused ? nullptr : &view.blocking;
  const std::size_t share = (s.shared_bytes + shared_scratch::overhead + size - 1) / size;
  return make_operation<aggregated_operation>(budget, std::move(s), where, std::move(own), lent, share, &budget);
}

operation_ptr prepare_node_aggregated(const exchange& x, const context& c, memory_budget& budget) {
  if (nothing_to_gather(*c.shape)) return prepare_operation(spread_out, x, c, budget);
  const level& nodes = c.nodes->topology.nodes();
  const local_exchange local{c.comm->rank(), c.comm->size(), x.in_place, x.send, x.recv, &c.nodes->topology};
  const node_traffic traffic = exchange_traffic(x, c, nodes, &budget);
  if (auto shared = prepare_shared(x, local, c, traffic, budget)) return shared;
  return make_operation<executor>(
      budget, build_aggregated(local, nodes, traffic, aggregation_by_messages(*c.shape, *c.opts), &budget),
      execution_of(x, c), &budget);
}

// Of the busiest rank: gathering in its node, then messages to other nodes, then scattering in its node.
seconds cost_of_node_aggregated(const shape& s, const options& o, const machine_model& m) noexcept {
  if (nothing_to_gather(s)) return spread_out.cost(s, o, m);
  const terms t(s, m);
  const double others = s.nodes - 1;
  const double n = s.largest_node;
  const aggregation how = aggregation_through_memory(s, o);
  const double leaders = how.leaders_of(s.largest_node);
  const double handled = std::ceil(others / leaders);
  const double outside = t.busiest() * (t.ranks() - n) / t.ranks();
  const double message = n * outside / others;
  if (how.distances > 0) {  // each block is written once and read once, after the node's ranks have synchronized
    const seconds synchronization = t.round_on(0, 1, 0, 0);
    return 2 * (synchronization + t.copies(t.ranks(), t.busiest())) +
           t.round_on(1, handled, handled * message, message, std::min(leaders, others));
  }
  const seconds gather = t.round_on(0, others + handled * n, outside + handled * message, message) +
                         t.packs(t.ranks(), outside + handled * message);
  return 2 * gather + t.round_on(1, handled, handled * message, message, std::min(leaders, others)) +
         t.round_on(0, n - 1, t.mean_block() * (n - 1), t.largest_block());
}

// The agreement takes its step in any case: only the copies of blocks (written, put into a message, read) and the
// longer messages count.
seconds piggybacked_cost(const shape& s, const options&, const machine_model& m) noexcept {
  const terms t(s, m);
  const double others = s.nodes - 1;
  const double n = s.largest_node;
  const double handled = std::ceil(others / n);
  const double message = n * t.busiest() * (t.ranks() - n) / t.ranks() / others;
  return 2 * t.copies(t.ranks(), t.busiest()) + t.copies(handled * n, handled * message) +
         t.round_on(1, handled, handled * message, message, std::min(n, others)) -
         t.round_on(1, handled, 0, 0, std::min(n, others));
}

// The same with one leader for each node: fewer ranks must be scheduled, and messages queue at fewer.
std::optional<options> variant_of_node_aggregated(const shape& s, const options& o) {
  if (nothing_to_gather(s) || s.nodes < 3 || o.node_aggregated.leaders != 0) return std::nullopt;
  options led = o;
  led.node_aggregated.leaders = 1;
  return led;
}

}  // namespace

const algorithm node_aggregated{
    .name = "node_aggregated",
    .summary = "one message per pair of nodes, gathered and scattered inside by all ranks of a node",
    .source = "aggregation, shared by local ranks",
    .rounds = "3 in each pass",
    .supports = node_aggregated_supports,
    .needs_nodes = true,
    .memory = memory_of_node_aggregated,
    .cost = cost_of_node_aggregated,
    .variant = variant_of_node_aggregated,
    .prepare = prepare_node_aggregated,
    .piggybacked = {.cost = piggybacked_cost},
};

}  // namespace taquin::detail
