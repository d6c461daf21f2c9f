// hierarchical_k_factor: nodes are neighbours in graphs of degree k, and each node exchanges with k others at a time.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §3: the same scheme where the complete graph is
//          decomposed into graphs with degrees at most k.
// Rounds:  1, in which each of the node's k ports goes through its neighbours one by one, and through the pairs of
//          ranks of each. At most n(p − n)/k + n·n₂ steps, for the two largest nodes of n and n₂ ranks, and
//          n(p − n + n₂(k − 1))/k if k is even or an even number of nodes is active in every phase.
// Bytes:   each block once, and one byte for each step inside the node.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    as hierarchical_factor, where a node's link needs several partners to be busy: with k ports it has k
//          different ones, and with an odd number of nodes and even k none is left out.
#include "algorithms/nodes/node_ports.hpp"
#include "topology/factor_steps.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t k_factor_tokens = 1;  // where a port goes on

class k_factor_builder : node_ports {
 public:
  k_factor_builder(const local_exchange& x, const level& nodes, int ports, schedule& s,
                   std::pmr::memory_resource* memory)
      : node_ports(x, nodes, ports, s), memory_(memory) {
    each_pairing([&](const port_pairing& p) {
      if (p.with.there == node_ && left_over_ < 0) left_over_ = p.with.round;
    });
  }

  void build() {
    for (int port = 0; port < ports_; ++port) {
      s_.begin_lane(port);
      int holder = -1;  // the rank that used the port last
      each_pairing([&](const port_pairing& p) {
        if (p.port != port) return;
        if (p.with.there == node_) {
          if (p.with.round == left_over_) exchange_inside();
          return;
        }
        for_each_step(nodes_, p.with, [&](const factor_step& step) {
          pass(port, holder, step.here);
          if (step.here != x_.rank) return;
          s_.use_tag(p.label);  // two ranks of different nodes exchange once
          exchange_with(step.there);
          s_.use_tag(port);
        });
      });
      if (port == 0 && left_over_ < 0) exchange_inside();
    }
    s_.end_lanes(ports_);
  }

 private:
  template <class F>
  void each_pairing(F f) const {
    for_each_port_pairing(nodes_, node_, ports_, memory_, f);
  }

  std::pmr::memory_resource* memory_;
  int left_over_ = -1;  // the round in which the node is first its own partner
};

}  // namespace

const algorithm hierarchical_k_factor{
    .name = "hierarchical_k_factor",
    .summary =
        "nodes are neighbours in graphs of degree k, phases by node size, `ports` = k partners of a node at a time",
    .source = "Sanders & Träff §3",
    .rounds = "at most n(p − n)/k + n·n₂ steps: n, n₂ ranks on the two largest nodes, k ports",
    .needs_nodes = true,
    .memory = port_memory<k_factor_tokens>,
    .cost = cost_by_ports,
    .build = build_by_ports<k_factor_builder, k_factor_tokens>,
};

}  // namespace taquin::detail
