// node_aggregated: one message per pair of nodes.
//
// Source:  aggregation within nodes, as MPI libraries do with a leader; here all ranks of a node share the work: the
//          d-th node after this one is served by local rank (d − 1) mod n.
// Rounds:  3 in each pass: gather in the node, one message per pair of nodes, scatter in the node. One pass serves as
//          many of the other nodes as the memory allows.
// Bytes:   between nodes each block once; inside nodes up to two times more.
// Memory:  what a pass of d nodes passes through a rank: at most 4(d + n)·n blocks for nodes of n ranks; irregular
//          exchanges: and a table of n(p + N) sizes.
// Limits:  separate buffers.
// Wins:    small blocks, several ranks per node: n² messages become one. One rank per node, or one node: it is
//          spread_out.
#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/aggregation.hpp"
#include "algorithms/algorithm.hpp"
#include "model/terms.hpp"
#include "mpi/check.hpp"
#include "schedule/executor.hpp"
#include "topology/detect.hpp"

namespace taquin::detail {

namespace {

bool supports(const shape& s) noexcept { return !s.inter && !s.in_place; }

std::size_t table_bytes(const shape& s) noexcept {
  if (s.uniform) return 0;
  const auto row = static_cast<std::size_t>(s.ranks + s.nodes);
  return (2 * static_cast<std::size_t>(s.largest_node) + 1) * row * sizeof(count_t);
}

std::size_t footprint(const shape& s, int distances) noexcept {
  const aggregated_size size = size_of_aggregated(s, distances);
  return executor::footprint(size.parts, size.scratch, size.staging) + table_bytes(s) +
         2 * static_cast<std::size_t>(s.largest_node) * sizeof(region);
}

// Nothing to gather: every rank alone on its node, or all on one.
bool flat(const shape& s) noexcept { return s.nodes <= 1 || s.largest_node <= 1; }

// As many distances in a pass as the memory allows, by halves; where nothing fits, what takes least.
int distances(const shape& s) noexcept {
  int least = std::max(s.nodes - 1, 1);
  for (int d = least;; d = (d + 1) / 2) {
    if (footprint(s, d) <= s.memory_limit) return d;
    if (footprint(s, d) < footprint(s, least)) least = d;
    if (d == 1) return least;
  }
}

std::size_t memory(const shape& s, const options& o) noexcept {
  return flat(s) ? spread_out.memory(s, o) : footprint(s, distances(s));
}

// What the node's ranks send and receive they tell each other once.
node_traffic ask(const exchange& x, const context& c, const level& nodes, std::pmr::memory_resource* memory) {
  const int node = nodes.group[static_cast<std::size_t>(c.comm->rank())];
  if (c.shape->uniform) return {nodes, node, static_cast<count_t>(c.shape->max_block_bytes), memory};
  const auto n = static_cast<std::size_t>(nodes.size(node));
  const auto groups = static_cast<std::size_t>(nodes.groups());
  const auto p = static_cast<std::size_t>(c.comm->size());
  const std::size_t row = groups + p;
  std::pmr::vector<count_t> mine(row, memory);
  std::pmr::vector<count_t> all(n * row, memory);
  for (int rank = 0; rank < c.comm->size(); ++rank) {
    mine[static_cast<std::size_t>(nodes.group[static_cast<std::size_t>(rank)])] += x.send[rank].bytes();
    mine[groups + static_cast<std::size_t>(rank)] = x.recv[rank].bytes();
  }
  const auto count = static_cast<int>(row);
  TAQUIN_MPI(MPI_Allgather(mine.data(), count, MPI_INT64_T, all.data(), count, MPI_INT64_T, c.nodes->local.get()));
  std::pmr::vector<count_t> to_node(memory);
  std::pmr::vector<count_t> from(memory);
  to_node.reserve(n * groups);
  from.reserve(n * p);
  for (std::size_t i = 0; i < n; ++i) {
    const count_t* first = all.data() + i * row;
    to_node.insert(to_node.end(), first, first + groups);
    from.insert(from.end(), first + groups, first + row);
  }
  return {nodes, node, std::move(to_node), std::move(from)};
}

body_ptr prepare(const exchange& x, const context& c, memory_budget& budget) {
  if (flat(*c.shape)) return prepare_body(spread_out, x, c, budget);
  const level& nodes = c.nodes->topology.nodes();
  const local_exchange local{c.comm->rank(), c.comm->size(), x.in_place, x.send, x.recv, &c.nodes->topology};
  const node_traffic traffic = ask(x, c, nodes, &budget);
  return make_body<executor>(budget, build_aggregated(local, nodes, traffic, distances(*c.shape), &budget),
                             execution{c.comm->get(), c.tag, x.send.base, x.recv.base, c.reused}, &budget);
}

// Of the rank with most to do: messages in its node, then those to other nodes that it handles, then in its node again.
seconds cost(const shape& s, const options& o, const machine_model& m) noexcept {
  if (flat(s)) return spread_out.cost(s, o, m);
  const terms t(s, m);
  const double others = s.nodes - 1;
  const double n = s.largest_node;
  const double handled = std::ceil(others / n);
  const double outside = t.busiest() * (t.ranks() - n) / t.ranks();
  const double message = n * outside / others;
  const seconds gather = t.round_on(0, others + handled * n, outside + handled * message, message) +
                         t.packs(t.ranks(), outside + handled * message);
  return 2 * gather + t.round_on(1, handled, handled * message, message) +
         t.round_on(0, n - 1, t.mean_block() * (n - 1), t.largest_block());
}

}  // namespace

const algorithm node_aggregated{
    .name = "node_aggregated",
    .summary = "one message per pair of nodes, gathered and scattered inside by all ranks of a node",
    .source = "aggregation, shared by local ranks",
    .rounds = "3 in each pass",
    .supports = supports,
    .needs_nodes = true,
    .memory = memory,
    .cost = cost,
    .prepare = prepare,
};

}  // namespace taquin::detail
