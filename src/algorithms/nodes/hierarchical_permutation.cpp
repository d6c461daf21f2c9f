// hierarchical_permutation: each node sends to one node and receives from another, by permutations of the nodes.
//
// Source:  Sanders & Träff, The Hierarchical Factor Algorithm, §3: the same scheme where the complete graph is
//          decomposed into permutations.
// Rounds:  1, in which each of the node's k ports goes through its permutations one by one, and in each through the
//          pairs of ranks of the node that it sends to and of the node that it receives from, independently. With one
//          port n(p − n) steps, for the largest node of n ranks: as many as messages leave it, which is optimal. With k
//          at most n(p − n + n₂(k − 1))/k, where the next largest node has n₂.
// Bytes:   each block once, and two bytes for each step inside the node.
// Memory:  bookkeeping linear in p; no data is staged.
// Limits:  separate buffers.
// Wins:    as hierarchical_factor, with few ports and an odd number of nodes, none of which it leaves out.
#include "algorithms/nodes/node_ports.hpp"
#include "topology/factor_steps.hpp"

namespace taquin::detail {

namespace {

constexpr std::size_t permutation_tokens = 2;  // one for the sender and one for the receiver

class permutation_builder : node_ports {
 public:
  permutation_builder(const local_exchange& x, const level& nodes, int ports, schedule& s,
                      std::pmr::memory_resource* memory)
      : node_ports(x, nodes, ports, s), memory_(memory) {}

  void build() {
    for (int port = 0; port < ports_; ++port) {
      s_.begin_lane(port);
      int sender = -1;  // the ranks that used the port last
      int receiver = -1;
      int rounds = 0;
      for_each_permutation(nodes_, node_, memory_, [&](const node_permutation& p) {
        ++rounds;
        if (p.to.round % ports_ != port) return;
        const int out = steps_of(nodes_, p.to);
        const int in = steps_of(nodes_, p.from);
        for (int t = 0; t < std::max(out, in); ++t) {
          const factor_step to = t < out ? step_of(nodes_, p.to, t) : factor_step{.here = sender};
          const factor_step from = t < in ? step_of(nodes_, p.from, t) : factor_step{.here = receiver};
          pass_both(port, sender, to.here, receiver, from.here);
          move(t < out && to.here == x_.rank ? to.there : -1, t < in && from.here == x_.rank ? from.there : -1);
        }
      });
      // The permutation that leaves each node to itself.
      if (rounds % ports_ == port) exchange_inside();
    }
    s_.end_lanes(ports_);
  }

 private:
  // Sends before receives, so that no rank waits for another one's token before it passes on its own.
  void pass_both(int port, int& sender, int next_sender, int& receiver, int next_receiver) {
    const bool new_sender = sender >= 0 && sender != next_sender;
    const bool new_receiver = receiver >= 0 && receiver != next_receiver;
    const bool gives_out = new_sender && sender == x_.rank;
    const bool gives_in = new_receiver && receiver == x_.rank;
    if (gives_out || gives_in) s_.then();
    if (gives_out) s_.send(next_sender, token_out());
    if (gives_in) s_.send(next_receiver, token_out());
    if (new_sender && next_sender == x_.rank) s_.recv(sender, token_in(port, 0));
    if (new_receiver && next_receiver == x_.rank) s_.recv(receiver, token_in(port, 1));
    sender = next_sender;
    receiver = next_receiver;
  }

  // A block to `to` and one from `from`; −1: none. With a single port a receiver announces that its port is free.
  void move(int to, int from) {
    const region out = to >= 0 ? s_.send_block(x_, to) : region{};
    const region in = from >= 0 ? s_.recv_block(x_, from) : region{};
    s_.then();
    if (ports_ == 1) {
      if (to >= 0 && s_.bytes(out) > 0) s_.recv(to, token_in(0));
      if (from >= 0 && s_.bytes(in) > 0) s_.send(from, token_out());
      s_.then();
    }
    if (from >= 0) s_.recv(from, in);
    if (to >= 0) s_.send(to, out);
  }

  std::pmr::memory_resource* memory_;
};

}  // namespace

const algorithm hierarchical_permutation{
    .name = "hierarchical_permutation",
    .summary =
        "nodes send and receive by permutations, phases by node size, at most `ports` messages out of a node and in",
    .source = "Sanders & Träff §3",
    .rounds =
        "at most n(p − n + n₂(k − 1))/k steps, n(p − n) with one port: n, n₂ ranks on the two largest nodes, k ports",
    .needs_nodes = true,
    .memory = port_memory<permutation_tokens>,
    .cost = cost_by_ports,
    .build = build_by_ports<permutation_builder, permutation_tokens>,
};

}  // namespace taquin::detail
