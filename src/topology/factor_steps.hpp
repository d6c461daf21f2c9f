// A schedule of pairs of ranks in which each node takes part in one exchange at a time.
//
// Source: Sanders & Träff, The Hierarchical Factor Algorithm for All-to-all Communication, §3 and §4. Phases by node
// size; in each, rounds over the 1-factors of the nodes that are still active; in each, one step per pair of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/sizes.hpp"
#include "topology/one_factors.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// The steps inside a node.
enum class inside : std::uint8_t {
  stepped,  ///< §3: one-directional steps, one for each ordered pair of the node's ranks, in rounds of its own
  moved     ///< §4: all together, when the node first has no partner; rounds that it alone would need are saved
};

/// Two nodes that are partners in a round; or a node that is its own partner, with `there` == `here`.
struct pairing {
  int round = 0;  ///< counted over all phases
  int here = 0;
  int there = 0;
  int done = 0;     ///< local indices of the smaller node that were served in earlier phases
  int current = 0;  ///< and will have been served after this one
};

/// One exchange between a rank of `here` and one of `there`.
struct factor_step {
  int round = 0;
  int index = 0;         ///< within the pairing; the same on both nodes
  int here = 0;          ///< rank
  int there = 0;         ///< rank
  bool one_way = false;  ///< from here to there only
};

/// Calls f(pairing) for each round in which `node` has a partner, itself included. The partner gets the mirror image.
/// Takes an int per node from `memory` and gives them back.
template <class F>
void for_each_pairing(const level& nodes, int node, inside way, std::pmr::memory_resource* memory, F f) {
  std::pmr::vector<int> active(memory);
  active.reserve(as_size(nodes.groups()));
  for (int n = 0; n < nodes.groups(); ++n) active.push_back(n);
  int round = 0;
  for (int done = 0; done < nodes.size(node);) {
    std::erase_if(active, [&](int n) { return nodes.size(n) <= done; });
    int current = nodes.size(active.front());
    for (const int n : active) current = std::min(current, nodes.size(n));
    const int m = static_cast<int>(active.size());
    const int me = static_cast<int>(std::ranges::find(active, node) - active.begin());
    const int rounds = way == inside::stepped ? m : factors(m);
    for (int i = 0; i < rounds; ++i, ++round) {
      const int with = way == inside::stepped ? (i - me + m) % m : partner(m, i, me);
      f(pairing{round, node, active[as_size(with)], done, current});
    }
    done = current;
  }
}

/// Calls f(factor_step) for each step of a pairing in order. With inside::moved a node that is its own partner has
/// none.
template <class F>
void for_each_step(const level& nodes, const pairing& p, F f) {
  const int ours = nodes.size(p.here);
  const int theirs = nodes.size(p.there);
  const bool smaller = ours < theirs || (ours == theirs && p.here <= p.there);
  const int across = smaller ? theirs : ours;
  const int steps = (p.current - p.done) * across;
  for (int t = 0; t < steps; ++t) {
    const int in_small = p.done + t / across;
    const int in_large = t % across;
    f(factor_step{p.round, t, nodes.member(p.here, smaller ? in_small : in_large),
                  nodes.member(p.there, smaller ? in_large : in_small), p.here == p.there});
  }
}

/// The port that serves a step, out of `ports`. The steps of a pairing are distributed round-robin; the next round's
/// begin at the next port, so that ports which have finished one factor continue with the next while others finish.
constexpr int port_of(const factor_step& s, int ports) noexcept {
  return static_cast<int>((static_cast<long long>(s.round) + s.index) % ports);
}

}  // namespace taquin::detail
