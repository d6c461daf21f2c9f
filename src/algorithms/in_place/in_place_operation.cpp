#include "algorithms/in_place/in_place_operation.hpp"

#include <algorithm>

#include "algorithms/in_place/units.hpp"
#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "node/blocking_channel.hpp"
#include "node/internode.hpp"

namespace taquin::detail {

namespace {

// No rank waits longer than a copy of all data would last, which is the most that a shorter timeout costs.
constexpr double longest_idle_threshold = 100e-6;
constexpr double copied_byte = 0.2e-9;

// Parts of units of several columns have the bytes of all of them.
element unit_of(const exchange& x, const shape& s, std::span<const unit_column> columns) noexcept {
  return columns.empty() ? unit_of(x, s) : x.recv.element;
}

int count_of(std::span<const unit_column> columns) noexcept {
  return static_cast<int>(std::max<std::size_t>(columns.size(), 1));
}

constexpr in_place_limits most{.runs = 16, .per_peer = 4, .requests = 32, .sends = 32, .staged = 64};

}  // namespace

// Everything but the auxiliary memory, for the rank with the most peers.
std::size_t in_place_operation::bookkeeping(const shape& s, const in_place_limits& l) noexcept {
  const auto peers = as_size(s.max_peers);
  return sizeof(in_place_operation) + in_place_machine::bytes(l, peers, peers) + 2 * peers * sizeof(peer_block) +
         mpi_port::footprint(in_place_protocol::limits(l, 0), 0) + frame_memory::most;
}

std::size_t in_place_operation::least(const shape& s, int columns) noexcept {
  return bookkeeping(s, {.columns = columns}) + std::max<std::size_t>(s.unit_span, 1);
}

// Bookkeeping that grows with the limits takes a quarter of the memory at most: the limits are halved until it does.
in_place_limits in_place_operation::limits(const exchange& x, const context& c, std::size_t allowed,
                                           const element& unit, int columns) noexcept {
  const shape& s = *c.shape;
  in_place_limits l = most;
  l.columns = columns;
  l.requests = std::min(l.requests, in_flight_of(*c.opts));
  l.sends = std::min(l.sends, in_flight_of(*c.opts));
  // Bounds the requests at a rank by the messages that may be in flight, or one of each rank that it sends to.
  l.per_peer = std::clamp(l.requests / std::max(s.max_peers, 1), 1, l.per_peer);
  const in_place_limits least{.columns = columns};
  const auto halve = [](int& v, int floor) { v = std::max(v / 2, floor); };
  while (bookkeeping(s, l) > sizeof(in_place_operation) + allowed / 4 &&
         (l.runs > least.runs || l.requests > least.requests)) {
    halve(l.runs, least.runs);
    halve(l.per_peer, least.per_peer);
    halve(l.requests, least.requests);
    halve(l.sends, least.sends);
    halve(l.staged, least.staged);
  }
  if (bookkeeping(s, l) + std::max<std::size_t>(s.unit_span, 1) > allowed) l = least;
  const std::size_t aux = allowed - bookkeeping(s, l);
  l.scratch = c.opts->in_place.scratch_sends;
  const count_t received = total_units(x.recv, s.ranks, unit);
  l.set_aux(std::clamp<count_t>(received, 1, fitting(unit, aux)), aux, as_size(unit.size), s.max_peers, received);
  return l;
}

// That fetch data from each other. Types with gaps go by messages.
int in_place_operation::node_ranks(const context& c) const noexcept {
  const shape& s = *c.shape;
  if (s.unit_size == 0 || s.unit_span > 0) return 1;
  if (s.shared) return s.ranks;
  if (nodes_ == nullptr) return 1;
  const level& nodes = nodes_->topology.nodes();
  return nodes.size(nodes.group[as_size(c.comm->rank())]);
}

rank_group in_place_operation::own_node(const context& c) const noexcept {
  return nodes_ == nullptr ? rank_group::all() : rank_group::of(nodes_->topology.nodes(), c.comm->rank());
}

// The bytes of a node's offers; 0 if data go by messages: a rank alone on its node, a type with gaps, or so little
// memory that the algorithm needs it more. The same on all ranks of the node.
std::size_t in_place_operation::node_bytes(const context& c, std::size_t allowed) const noexcept {
  constexpr std::size_t part = 8;  // of the memory allowed
  const shape& s = *c.shape;
  const int ranks = node_ranks(c);
  if (ranks == 1) return 0;
  const std::size_t space = node_offers::bytes(ranks);
  const std::size_t bytes = c.reused ? channel::share(ranks, space) + channel::bookkeeping(ranks) : space;
  return bytes <= allowed / part && least(s) + bytes <= allowed ? bytes : 0;
}

// Plans have a channel of their own; blocking calls use their communicator's, or that of its node. Collective among the
// node's ranks.
channel* in_place_operation::node_channel(const exchange& x, const context& c, std::size_t space,
                                          memory_budget& memory) {
  if (!c.reused) return nodes_ == nullptr ? blocking_channel(x.comm) : channel_of_node(*nodes_);
  own_ = channel::make(nodes_ == nullptr ? c.comm->get() : nodes_->local.get(), space, environment::get().shared_memory,
                       &memory);
  return &own_;
}

node_offers* in_place_operation::offers(const exchange& x, const context& c, std::size_t bytes, memory_budget& memory) {
  if (bytes == 0) return nullptr;
  const int ranks = node_ranks(c);
  const std::size_t space = node_offers::bytes(ranks);
  channel* const node = node_channel(x, c, space, memory);
  if (node == nullptr || node->empty() || !node->single_copies() || node->payload_bytes() < space) return nullptr;
  share_.emplace(memory, c.reused ? channel::share(ranks, space) : space);
  return &offers_.emplace(*node, units_.unit_bytes(), own_node(c), units_.columns());
}

// All ranks fetch: chunks have the size for that.
void in_place_operation::let_fetch(const shape& s, std::size_t allowed) noexcept {
  count_t received = 0;
  for (const peer_block& b : in_) received += b.length;
  limits_.set_aux(limits_.aux, allowed - bookkeeping(s, limits_), units_.unit_bytes(), s.max_peers, received, true);
  machine_.set_chunks(limits_);
}

in_place_operation::in_place_operation(const exchange& x, const context& c, std::size_t allowed, memory_budget& memory,
                                       std::span<const unit_column> columns)
    : mpi_operation(&memory),
      nodes_(!internode::joins_nodes(*c.comm) ? nullptr : nodes_of(*c.comm, {})),
      limits_(limits(x, c, allowed - node_bytes(c, allowed), unit_of(x, *c.shape, columns), count_of(columns))),
      out_(collect(x.send, c.shape->ranks, unit_of(x, *c.shape, columns), &memory)),
      in_(collect_by_location(x.recv, c.shape->ranks, unit_of(x, *c.shape, columns), &memory)),
      machine_(c.comm->rank(), out_, in_, limits_, &memory),
      units_(x.recv.base, machine_.border(), 1, unit_of(x, *c.shape, columns), limits_.aux, &memory, false, columns),
      net_(*c.comm, c.tag, units_,
           in_place_protocol::limits(
               limits_, std::min(static_cast<double>(c.shape->max_rank_bytes) * copied_byte, longest_idle_threshold)),
           &memory, offers(x, c, node_bytes(c, allowed), memory)),
      protocol_{frame(), c.comm->rank(), out_, in_, machine_, units_, net_} {
  if (net_.fetches() && nodes_ == nullptr) let_fetch(*c.shape, allowed - node_bytes(c, allowed));
  net_.let_arrive(own_node(c));
  prepare();
}

void in_place_operation::account(statistics& s) const {
  s.rounds += machine_.rounds();
  s.messages += net_.messages();
  s.bytes_sent += net_.bytes_sent();
  s.bytes_copied += units_.bytes_copied();
}

}  // namespace taquin::detail
