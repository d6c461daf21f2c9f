// The common parts of the hierarchical factor algorithms: ports of a node, which its ranks pass on to each other, and
// the exchange inside a node.
//
// Source: Sanders & Träff, The Hierarchical Factor Algorithm, §3 and §4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "model/terms.hpp"
#include "schedule/executor.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// The ports of a node.
inline int ports_of(const options& o) noexcept {
  constexpr int by_default = 8;
  return o.hierarchical_factor.ports > 0 ? o.hierarchical_factor.ports : by_default;
}

/// The paper's model: at most one message enters a node and one leaves it at a time. With more ports a message may
/// arrive while its receiver's port still serves another node.
inline bool single_port(const options& o) noexcept { return ports_of(o) == 1; }

/// The scratch bytes of their schedules: that of tokens to send, and for each port those of two tokens to receive.
inline std::size_t port_scratch(int ports) noexcept { return 2 * as_size(ports) + 1; }

/// The parts of a schedule whose ranks exchange, each with each other, a block and so many tokens in either direction,
/// and with one port the announcement of the block.
inline schedule_size port_size(const shape& s, const options& o, std::size_t tokens) noexcept {
  const auto p = as_size(s.ranks);
  const std::size_t each = 2 * (1 + tokens + (single_port(o) ? 1 : 0));
  return {(s.kind == exchange::form::alltoallw ? 2 * p : 2) + 1, each * p, each * p, 1, 1, as_size(ports_of(o))};
}

/// The bytes of an executor of such a schedule, and of the active nodes while it is built.
template <std::size_t Tokens>
std::size_t port_memory(const shape& s, const options& o) noexcept {
  return executor::footprint(port_size(s, o, Tokens), port_scratch(ports_of(o))) + as_size(s.ranks) * sizeof(int);
}

/// The predicted time of `steps` steps one after another, each of a message in either direction between nodes and one
/// inside the node; no shorter than all messages on the largest node's link.
inline seconds port_cost(const shape& s, const options& o, const machine_model& m, double steps) noexcept {
  const terms t(s, m);
  const double n = s.nodes == 0 ? 1 : s.largest_node;
  const double block = t.mean_block();
  const seconds step = t.round_on(1, 1, block, block) + (n > 1 ? t.round_on(0, 1, 1, 1) : 0) +
                       (single_port(o) ? t.round_on(1, 1, 1, 1) : 0);
  const double peers = t.ranks() - n;
  return std::max(steps * step, t.round_on(1, peers, peers * block, t.largest_block(), n)) +
         t.round_on(0, n - 1, block * (n - 1), t.largest_block()) + t.copies(1, block);
}

/// Steps of rounds in which a node has as many partners as ports: at least the messages of the largest node over its
/// ports, or those of one round; at most the bound that docs/internals/node-aware-algorithms.md proves. The mean of
/// both, as the rounds of phases of a few nodes run beside each other.
inline double steps_by_ports(const shape& s, const options& o) noexcept {
  const double nodes = s.nodes == 0 ? s.ranks : s.nodes;
  if (nodes < 2) return 0;
  const double n = s.nodes == 0 ? 1 : s.largest_node;
  const double second = s.nodes == 0 ? 1 : s.second_node;
  const double smallest = s.nodes == 0 ? 1 : s.smallest_node;
  const double ports = std::min<double>(ports_of(o), nodes - 1);
  const double most =
      std::min(n * (s.ranks - n + second * (ports - 1)) / ports, n * second * std::ceil((nodes - 1) / ports));
  const double least = std::max(n * (s.ranks - n) / ports_of(o), n * smallest);
  return (least + most) / 2;
}

/// The predicted time of such rounds.
inline seconds cost_by_ports(const shape& s, const options& o, const machine_model& m) noexcept {
  return port_cost(s, o, m, steps_by_ports(s, o));
}

/// One rank's messages, port by port. A port is a lane of the schedule.
class node_ports {
 public:
  node_ports(const node_ports&) = delete;
  node_ports& operator=(const node_ports&) = delete;

 protected:
  node_ports(const local_exchange& x, const level& nodes, int ports, schedule& s)
      : x_(x), nodes_(nodes), node_(nodes.group[as_size(x.rank)]), ports_(ports), s_(s) {
    token_ = s.add_type(element::bytes(1));
    s.scratch_bytes = port_scratch(ports);
  }
  ~node_ports() = default;

  [[nodiscard]] region token_out() const noexcept { return {0, 1, 0, 1, token_, place::scratch}; }
  [[nodiscard]] region token_in(int port, int which = 0) const noexcept {
    return {1 + 2 * port + which, 1, 0, 1, token_, place::scratch};
  }

  /// The port goes from the rank that used it last, −1: none, to `next`.
  void pass(int port, int& holder, int next) {
    if (holder >= 0 && holder != next) {
      if (holder == x_.rank) {
        s_.then();
        s_.send(next, token_out());
      }
      if (next == x_.rank) s_.recv(holder, token_in(port));
    }
    holder = next;
  }

  /// Both blocks of a pair. With a single port the two ranks wait for each other, because either node may be later than
  /// the other.
  void exchange_with(int peer) {
    const region in = s_.recv_block(x_, peer);
    const region out = s_.send_block(x_, peer);
    s_.then();
    if (ports_ == 1 && s_.bytes(in) + s_.bytes(out) > 0) {
      s_.recv(peer, token_in(0));
      s_.send(peer, token_out());
      s_.then();
    }
    s_.recv(peer, in);
    s_.send(peer, out);
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

  const local_exchange& x_;
  const level& nodes_;
  int node_;
  int ports_;
  schedule& s_;

 private:
  std::uint32_t token_ = 0;
};

/// The schedule that `Builder`(x, nodes, ports, schedule, memory).build() makes; without nodes each rank is one.
template <class Builder, std::size_t Tokens>
schedule build_by_ports(const local_exchange& x, const shape& shape, const options& o,
                        std::pmr::memory_resource* memory) {
  schedule s(memory, port_size(shape, o, Tokens));
  s.ahead = true;
  s.add_types(x);
  s.add_copy(s.send_block(x, x.rank), s.recv_block(x, x.rank));
  if (x.nodes != nullptr) {
    Builder(x, x.nodes->nodes(), ports_of(o), s, memory).build();
  } else {
    const topology flat = topology::of_single_ranks(x.ranks);
    Builder(x, flat.nodes(), ports_of(o), s, memory).build();
  }
  return s;
}

}  // namespace taquin::detail
