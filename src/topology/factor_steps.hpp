// Schedules of pairs of ranks in which the exchanges of a node that run at the same time are bounded.
//
// Source: Sanders & Träff, The Hierarchical Factor Algorithm for All-to-all Communication, §3 and §4. Phases by node
// size; in each, rounds over a decomposition of the complete graph of the active nodes; in each, a step for every pair
// of ranks. The decompositions are those of §3: into 1-factors, into graphs of degree k, into permutations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "topology/one_factors.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// The steps inside a node.
enum class steps_inside : std::uint8_t {
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

/// Calls f(active nodes, node's index among them, done, current) for each phase in which `node` is active: the nodes
/// with more than `done` ranks exchange what their local indices from `done` to `current` − 1 send and receive. Takes
/// an int per node from `memory` and gives them back.
template <class F>
void for_each_phase(const level& nodes, int node, std::pmr::memory_resource* memory, F f) {
  std::pmr::vector<int> active(memory);
  active.reserve(as_size(nodes.groups()));
  for (int n = 0; n < nodes.groups(); ++n) active.push_back(n);
  for (int done = 0; done < nodes.size(node);) {
    std::erase_if(active, [&](int n) { return nodes.size(n) <= done; });
    int current = nodes.size(active.front());
    for (const int n : active) current = std::min(current, nodes.size(n));
    const int me = static_cast<int>(std::ranges::find(active, node) - active.begin());
    f(std::span<const int>(active), me, done, current);
    done = current;
  }
}

/// Calls f(pairing) for each round in which `node` has a partner, itself included. The partner gets the mirror image.
template <class F>
void for_each_pairing(const level& nodes, int node, steps_inside pattern, std::pmr::memory_resource* memory, F f) {
  int round = 0;
  for_each_phase(nodes, node, memory, [&](std::span<const int> active, int me, int done, int current) {
    const int m = static_cast<int>(active.size());
    const int rounds = pattern == steps_inside::stepped ? m : factors(m);
    for (int i = 0; i < rounds; ++i, ++round) {
      const int with = pattern == steps_inside::stepped ? (i - me + m) % m : partner(m, i, me);
      f(pairing{round, node, active[as_size(with)], done, current});
    }
  });
}

/// An edge of a graph of degree k.
struct port_pairing {
  pairing with;   ///< `round` is the factor's number, of degree 1 or 2
  int port = 0;   ///< of `here`, 0 ≤ port < k: no two edges of a graph have the same port at one node
  int label = 0;  ///< of the edge: the port of one of its nodes, on both
};

/// Calls f(port_pairing) for each edge of `node` in a decomposition into graphs of degree at most k, one by one; the
/// partner gets the mirror image, perhaps with another port. A node that is its own partner is one edge.
///
/// With an even number of nodes or odd k a graph is k 1-factors, one at each port. With an odd number m of nodes and
/// even k it is k/2 factors of degree 2, which leave no node out (Petersen): factor d joins each node with those at
/// distance d on a circle of m, and has two of the ports.
template <class F>
void for_each_port_pairing(const level& nodes, int node, int k, std::pmr::memory_resource* memory, F f) {
  int round = 0;
  int next = 0;   // the port of the next 1-factor: phases go on where the one before has ended
  int twins = 0;  // and the pair of ports of the next factor of degree 2
  for_each_phase(nodes, node, memory, [&](std::span<const int> active, int me, int done, int current) {
    const int m = static_cast<int>(active.size());
    const auto at = [&](int other) { return pairing{round, node, active[as_size(other)], done, current}; };
    if (m % 2 != 0 && m > 1 && k % 2 == 0) {
      for (int d = 1; d <= m / 2; ++d, ++round, twins = (twins + 1) % (k / 2)) {
        f(port_pairing{at((me + d) % m), 2 * twins, 2 * twins});
        f(port_pairing{at((me - d + m) % m), 2 * twins + 1, 2 * twins});
      }
    } else {
      for (int i = 0; i < factors(m); ++i, ++round, next = (next + 1) % k)
        f(port_pairing{at(partner(m, i, me)), next, next});
    }
  });
}

/// The node's part of a permutation: it sends to one node and receives from one.
struct node_permutation {
  pairing to;
  pairing from;
};

/// Calls f(node_permutation) for each round of a decomposition into permutations, without the one that leaves each node
/// to itself: of m active nodes, node u sends to u + d mod m, d = 1 … m − 1.
template <class F>
void for_each_permutation(const level& nodes, int node, std::pmr::memory_resource* memory, F f) {
  int round = 0;
  for_each_phase(nodes, node, memory, [&](std::span<const int> active, int me, int done, int current) {
    const int m = static_cast<int>(active.size());
    for (int d = 1; d < m; ++d, ++round)
      f(node_permutation{{round, node, active[as_size((me + d) % m)], done, current},
                         {round, node, active[as_size((me - d + m) % m)], done, current}});
  });
}

/// The steps of a pairing: each rank of the smaller node that the phase serves with each one of the larger.
inline int steps_of(const level& nodes, const pairing& p) noexcept {
  return (p.current - p.done) * std::max(nodes.size(p.here), nodes.size(p.there));
}

/// Step t of a pairing, 0 ≤ t < steps_of().
inline factor_step step_of(const level& nodes, const pairing& p, int t) noexcept {
  const int ours = nodes.size(p.here);
  const int theirs = nodes.size(p.there);
  const bool smaller = ours < theirs || (ours == theirs && p.here <= p.there);
  const int across = smaller ? theirs : ours;
  const int in_small = p.done + t / across;
  const int in_large = t % across;
  return {p.round, t, nodes.member(p.here, smaller ? in_small : in_large),
          nodes.member(p.there, smaller ? in_large : in_small), p.here == p.there};
}

/// Calls f(factor_step) for each step of a pairing in order.
template <class F>
void for_each_step(const level& nodes, const pairing& p, F f) {
  for (int t = 0; t < steps_of(nodes, p); ++t) f(step_of(nodes, p, t));
}

/// The port that serves a step, out of `ports`. The steps of a pairing are distributed round-robin; the next round's
/// begin at the next port, so that ports which have finished one factor continue with the next while others finish.
constexpr int port_of(const factor_step& s, int ports) noexcept {
  return static_cast<int>((static_cast<long long>(s.round) + s.index) % ports);
}

}  // namespace taquin::detail
