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
#include "algorithms/nodes/node_ports.hpp"
#include "topology/factor_steps.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t factor_tokens = 1;  // where a port goes on

class factor_builder : node_ports {
 public:
  factor_builder(const local_exchange& x, const level& nodes, int ports, schedule& s, std::pmr::memory_resource* memory)
      : node_ports(x, nodes, ports, s), memory_(memory) {
    for_each_pairing(nodes, node_, steps_inside::moved, memory_, [&](const pairing& p) {
      if (p.there == node_ && left_over_ < 0) left_over_ = p.round;
    });
  }

  void build() {
    for (int port = 0; port < ports_; ++port) {
      s_.begin_lane(port);
      int holder = -1;  // the rank that used the port last
      for_each_pairing(nodes_, node_, steps_inside::moved, memory_, [&](const pairing& p) {
        if (p.there != node_) {
          for_each_step(nodes_, p, [&](const factor_step& step) {
            if (port_of(step, ports_) != port) return;
            pass(port, holder, step.here);
            if (step.here == x_.rank) exchange_with(step.there);
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
  std::pmr::memory_resource* memory_;
  int left_over_ = -1;  // the round in which the node is first its own partner
};

// The steps, shared by the ports; a step between nodes is a round of one message, and passes the port to the next rank
// of the node.
seconds cost_of_hierarchical_factor(const shape& s, const options& o, const machine_model& m) noexcept {
  const double steps = s.nodes == 0 ? s.ranks - 1 : static_cast<double>(s.factor_steps);
  return port_cost(s, o, m, steps / std::min<double>(ports_of(o), std::max(steps, 1.0)));
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
    .memory = port_memory<factor_tokens>,
    .cost = cost_of_hierarchical_factor,
    .build = build_by_ports<factor_builder, factor_tokens>,
};

}  // namespace taquin::detail
