// hierarchical_factor: nodes are paired by 1-factors, and each node takes part in at most k exchanges at a time.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §3 and §4; k ports by merging factors.
// Rounds:  1, in which each of the node's k ports goes through its steps one by one: n(p − n)/k steps for the largest
//          node of n ranks. A port goes from one rank of the node to another by a message of one byte.
// Bytes:   each block once, and one byte for each step inside the node.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    large blocks where a node's link loses bandwidth with many messages in flight. The single port of the paper
//          leaves a full-duplex link idle between steps; 4 `ports` and more do not.
#include <algorithm>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"
#include "topology/factor_steps.hpp"

namespace taquin::detail {

namespace {

constexpr int default_ports = 8;

int ports_of(const options& o) noexcept {
  return o.hierarchical_factor.ports > 0 ? o.hierarchical_factor.ports : default_ports;
}

schedule_size size_of(const shape& s, const options& o) noexcept {
  const auto p = as_size(s.ranks);
  const auto ports = as_size(ports_of(o));
  return {(s.kind == exchange::form::alltoallw ? 2 * p : 2) + 1, 4 * p, 4 * p, 1, 1, ports};
}

std::size_t memory(const shape& s, const options& o) noexcept {
  return executor::footprint(size_of(s, o), as_size(ports_of(o)) + 1) +
         as_size(s.ranks) * sizeof(int);  // the active nodes, while it is built
}

/// One rank's messages, port by port.
class builder {
 public:
  builder(const local_exchange& x, const level& nodes, int ports, schedule& s, std::pmr::memory_resource* memory)
      : x_(x), nodes_(nodes), node_(nodes.group[as_size(x.rank)]), ports_(ports), s_(s), memory_(memory) {
    token_ = s.add_type(element::bytes(1));
    s.scratch_bytes = as_size(ports) + 1;
    for_each_pairing(nodes_, node_, inside::moved, memory_, [&](const pairing& p) {
      if (p.there == node_ && left_over_ < 0) left_over_ = p.round;
    });
  }

  void build() {
    for (int port = 0; port < ports_; ++port) {
      s_.begin_lane(port);
      int holder = -1;  // the rank that used the port last
      for_each_pairing(nodes_, node_, inside::moved, memory_, [&](const pairing& p) {
        if (p.there != node_) {
          for_each_step(nodes_, p, [&](const factor_step& step) {
            if (port_of(step, ports_) == port) take(step, port, holder);
          });
        } else if (p.round == left_over_ && p.round % ports_ == port) {
          exchange_inside();
        }
      });
      if (port == 0 && left_over_ < 0) exchange_inside();
    }
    s_.end_lanes(ports_);
  }

 private:
  void take(const factor_step& step, int port, int& holder) {
    if (holder >= 0 && holder != step.here) {
      const region out{0, 1, 0, 1, token_, place::scratch};
      const region in{port + 1, 1, 0, 1, token_, place::scratch};
      if (holder == x_.rank) {
        s_.then();
        s_.send(step.here, out);
      }
      if (step.here == x_.rank) s_.recv(holder, in);
    }
    holder = step.here;
    if (step.here != x_.rank) return;
    s_.then();
    exchange_with(step.there);
  }

  void exchange_inside() {
    s_.then();
    const int n = nodes_.size(node_);
    const int me = nodes_.index[as_size(x_.rank)];
    for (int distance = 1; distance < n; ++distance) {
      const int from = nodes_.member(node_, (me - distance + n) % n);
      const int to = nodes_.member(node_, (me + distance) % n);
      s_.recv(from, s_.recv_block(x_, from));
      s_.send(to, s_.send_block(x_, to));
    }
  }

  void exchange_with(int peer) {
    s_.recv(peer, s_.recv_block(x_, peer));
    s_.send(peer, s_.send_block(x_, peer));
  }

  const local_exchange& x_;
  const level& nodes_;
  int node_;
  int ports_;
  schedule& s_;
  std::pmr::memory_resource* memory_;
  std::uint32_t token_ = 0;
  int left_over_ = -1;  // the round in which the node is first its own partner
};

schedule build(const local_exchange& x, const shape& shape, const options& o, std::pmr::memory_resource* memory) {
  schedule s(memory, size_of(shape, o));
  s.ahead = true;
  s.add_types(x);
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  if (x.nodes != nullptr) {
    builder(x, x.nodes->nodes(), ports_of(o), s, memory).build();
  } else {
    const topology flat = topology::of_single_ranks(x.ranks);
    builder(x, flat.nodes(), ports_of(o), s, memory).build();
  }
  return s;
}

// The steps of the largest node, shared by its ports; a step between nodes is a round of one message.
seconds cost(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  const double n = s.nodes == 0 ? 1 : s.largest_node;
  const double steps = n * (t.ranks() - n);
  const double ports = std::min<double>(ports_of(o), std::max(steps, 1.0));
  const double step = t.round_on(1, 1, t.mean_block(), t.mean_block());
  return std::max(steps / ports * step, t.round_on(1, steps / n, t.busiest(), t.largest_block(), n)) +
         t.round_on(0, n - 1, t.mean_block() * (n - 1), t.largest_block()) + t.copies(1, t.mean_block());
}

}  // namespace

const algorithm hierarchical_factor{
    .name = "hierarchical_factor",
    .summary = "nodes paired by 1-factors, phases by node size, at most `ports` exchanges of a node at once",
    .source = "Sanders & Träff §3, §4",
    .rounds = "n(p − n)/k steps, n ranks on the largest node, k ports",
    .needs_nodes = true,
    .memory = memory,
    .cost = cost,
    .build = build,
};

}  // namespace taquin::detail
