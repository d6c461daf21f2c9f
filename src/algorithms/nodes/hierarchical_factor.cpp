// hierarchical_factor: nodes are paired by 1-factors, and each node takes part in at most k exchanges at a time.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §3 and §4; k ports by merging factors.
// Rounds:  1, in which each of the node's k ports goes through its steps one by one. All steps are n(p − n) + n₂·o, for
//          the largest node of n ranks, the next largest of n₂, and o local indices that an odd number of nodes, at
//          least 3, have; a port has a k-th of those of each 1-factor, and a rank p − n of its own. A port goes from
//          one rank of the node to another by a message of one byte.
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

// The paper's model: at most one message enters a node and one leaves it at a time. With more ports a message may
// arrive while its receiver's port still serves another node.
bool single_port(const options& o) noexcept { return ports_of(o) == 1; }

schedule_size size_of(const shape& s, const options& o) noexcept {
  const auto p = as_size(s.ranks);
  const auto ports = as_size(ports_of(o));
  const std::size_t each = single_port(o) ? 6 : 4;  // both ways: a block, a token, and before a block the announcement
  return {(s.kind == exchange::form::alltoallw ? 2 * p : 2) + 1, each * p, each * p, 1, 1, ports};
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

  // With a single port the two ranks wait for each other, because either node may be later than the other.
  void exchange_with(int peer) {
    const region in = s_.recv_block(x_, peer);
    const region out = s_.send_block(x_, peer);
    s_.then();
    if (ports_ == 1 && s_.bytes(in) + s_.bytes(out) > 0) {
      s_.recv(peer, {1, 1, 0, 1, token_, place::scratch});
      s_.send(peer, {0, 1, 0, 1, token_, place::scratch});
      s_.then();
    }
    s_.recv(peer, in);
    s_.send(peer, out);
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

// The steps, shared by the ports; a step between nodes is a round of one message, and passes the port to the next rank
// of the node. The time is no shorter than that of the messages on the largest node's link.
seconds cost(const shape& s, const options& o, const machine_model& m) noexcept {
  const terms t(s, m);
  const double n = s.nodes == 0 ? 1 : s.largest_node;
  const double block = t.mean_block();
  const auto steps = s.nodes == 0 ? t.ranks() - 1 : static_cast<double>(s.factor_steps);
  const double ports = std::min<double>(ports_of(o), std::max(steps, 1.0));
  const double step = t.round_on(1, 1, block, block) + (n > 1 ? t.round_on(0, 1, 1, 1) : 0) +
                      (single_port(o) ? t.round_on(1, 1, 1, 1) : 0);
  const double peers = t.ranks() - n;
  return std::max(steps / ports * step, t.round_on(1, peers, peers * block, t.largest_block(), n)) +
         t.round_on(0, n - 1, block * (n - 1), t.largest_block()) + t.copies(1, block);
}

}  // namespace

const algorithm hierarchical_factor{
    .name = "hierarchical_factor",
    .summary = "nodes paired by 1-factors, phases by node size, at most `ports` concurrent exchanges of a node",
    .source = "Sanders & Träff §3, §4",
    .rounds =
        "(n(p − n) + n₂·o)/min(k, n) steps: n, n₂ ranks on the two largest nodes, o of the n local indices on an odd "
        "number of nodes, at least 3, k ports",
    .needs_nodes = true,
    .memory = memory,
    .cost = cost,
    .build = build,
};

}  // namespace taquin::detail
