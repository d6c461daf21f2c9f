// The theorem of the hierarchical factor algorithm, for random node sizes.
#include "topology/factor_steps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory_resource>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace taquin::detail {
namespace {

auto* const memory = std::pmr::new_delete_resource();

std::vector<std::vector<int>> random_sizes() {
  std::mt19937 random(7);
  std::vector<std::vector<int>> all{{1},
                                    {5},
                                    {1, 1},
                                    {1, 2, 3},
                                    {1, 4, 2, 8},
                                    {1, 3, 2, 4, 1, 2},
                                    {8, 8, 8, 1, 8, 8},
                                    {4, 4, 4},
                                    {5, 1, 1},
                                    {8, 8, 8},
                                    {4, 1, 4, 1, 4, 1},
                                    {5, 5, 5, 1},
                                    {2, 2},
                                    {3, 1},
                                    {6, 6, 6, 6},
                                    {16, 1},
                                    {7, 3, 5}};
  for (int i = 0; i < 60; ++i) {
    auto& sizes = all.emplace_back(1 + random() % 9);
    for (int& size : sizes) size = 1 + static_cast<int>(random() % (i % 2 == 0 ? 4 : 9));
  }
  return all;
}

struct counted {
  int steps = 0;  // sum over the rounds of the longest pairing
  std::map<std::pair<int, int>, int> served;
  std::vector<int> one_way;  // per node
};

counted count(const level& nodes, steps_inside way) {
  counted c;
  c.one_way.resize(static_cast<std::size_t>(nodes.groups()));
  std::map<int, int> longest;  // per round
  for (int node = 0; node < nodes.groups(); ++node)
    for_each_pairing(nodes, node, way, memory, [&](const pairing& p) {
      if (way == steps_inside::moved && p.there == node) return;
      for_each_step(nodes, p, [&](const factor_step& s) {
        ++c.served[{s.here, s.there}];
        longest[s.round] = std::max(longest[s.round], s.index + 1);
        if (s.one_way) ++c.one_way[static_cast<std::size_t>(node)];
      });
    });
  for (const auto& [round, steps] : longest) c.steps += steps;
  return c;
}

TEST(factor_steps, as_many_as_messages_of_the_busiest_node) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const int p = std::accumulate(sizes.begin(), sizes.end(), 0);
    EXPECT_EQ(count(t.nodes(), steps_inside::stepped).steps, p * t.nodes().largest());
  }
}

// Sanders & Träff's Figure 3: three nodes of 1, 2 and 3 ranks go through 3, 2 and 1 rounds in 15 steps, in which the
// copies of ranks to themselves are none.
TEST(factor_steps, of_the_papers_figure_3_are_15) {
  const std::array sizes{1, 2, 3};
  const topology t = topology::of_sizes(sizes);
  std::map<int, int> longest;  // per round
  std::map<int, int> rounds;   // of the largest node, by what is done before
  for (int node = 0; node < 3; ++node)
    for_each_pairing(t.nodes(), node, steps_inside::stepped, memory, [&](const pairing& p) {
      int steps = 0;
      for_each_step(t.nodes(), p, [&](const factor_step& s) { steps += s.here != s.there ? 1 : 0; });
      longest[p.round] = std::max(longest[p.round], steps);
      if (node == 2) ++rounds[p.done];
    });
  EXPECT_EQ(rounds, (std::map<int, int>{{0, 3}, {1, 2}, {2, 1}}));
  int all = 0;
  for (const auto& [round, steps] : longest) all += steps;
  EXPECT_EQ(all, 15);
}

// The steps that are executed when the work inside nodes is moved away: n(p − n) + n₂·o.
TEST(factor_steps, between_nodes_are_as_many_as_the_closed_form_says) {
  const std::vector<std::pair<std::vector<int>, std::int64_t>> executed{
      {{1, 2, 3}, 11},  {{4, 4, 4}, 48},          {{1, 4, 2, 8}, 60}, {{5, 1, 1}, 11},
      {{8, 8, 8}, 192}, {{4, 1, 4, 1, 4, 1}, 56}, {{5, 5, 5, 1}, 75}};
  for (const auto& [sizes, steps] : executed) {
    const topology t = topology::of_sizes(sizes);
    EXPECT_EQ(t.nodes().factor_steps(), steps);
    EXPECT_EQ(count(t.nodes(), steps_inside::moved).steps, steps);
  }
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    EXPECT_EQ(count(t.nodes(), steps_inside::moved).steps, t.nodes().factor_steps());
  }
}

TEST(factor_steps, at_most_n_squared_are_one_way) {
  for (const auto& sizes : random_sizes()) {
    const auto c = count(topology::of_sizes(sizes).nodes(), steps_inside::stepped);
    for (std::size_t node = 0; node < sizes.size(); ++node) EXPECT_LE(c.one_way[node], sizes[node] * sizes[node]);
  }
}

TEST(factor_steps, pair_every_two_ranks_once) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const int p = std::accumulate(sizes.begin(), sizes.end(), 0);
    const auto stepped = count(t.nodes(), steps_inside::stepped).served;
    EXPECT_EQ(stepped.size(), static_cast<std::size_t>(p * p));
    for (const auto& [pair, times] : stepped) EXPECT_EQ(times, 1);
    for (const auto& [pair, times] : count(t.nodes(), steps_inside::moved).served) {
      EXPECT_EQ(times, 1);
      EXPECT_NE(t.nodes().group[static_cast<std::size_t>(pair.first)],
                t.nodes().group[static_cast<std::size_t>(pair.second)]);
    }
  }
}

TEST(factor_steps, moving_work_inside_nodes_never_adds_a_step_and_often_saves_some) {
  bool saved = false;
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const int p = std::accumulate(sizes.begin(), sizes.end(), 0);
    const auto moved = count(t.nodes(), steps_inside::moved);
    EXPECT_LE(moved.steps, p * t.nodes().largest());
    for (const int n : sizes) EXPECT_GE(moved.steps, n * (p - n));
    EXPECT_EQ(moved.served.size() +
                  std::accumulate(sizes.begin(), sizes.end(), std::size_t{0},
                                  [](std::size_t sum, int n) { return sum + static_cast<std::size_t>(n * n); }),
              static_cast<std::size_t>(p * p));
    saved = saved || moved.steps < p * t.nodes().largest();
  }
  EXPECT_TRUE(saved);
  const std::array even{2, 2, 2, 2};
  EXPECT_EQ(count(topology::of_sizes(even).nodes(), steps_inside::moved).steps, 2 * (8 - 2));
}

// Every step takes one unit of time on a port of both its nodes. With one port no node is in two steps at a time, and
// without barriers between rounds the steps take as long as the theorem says; with k ports k steps run together.
TEST(factor_steps, a_node_takes_part_in_as_many_exchanges_as_it_has_ports) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const level& nodes = t.nodes();
    for (const int ports : {1, 2, 3, 8}) {
      std::map<std::pair<int, int>, int> free_at;          // node and port
      std::map<std::array<int, 3>, factor_step> by_round;  // round, node pair's lower node, index
      for (int node = 0; node < nodes.groups(); ++node)
        for_each_pairing(nodes, node, steps_inside::moved, memory, [&](const pairing& p) {
          if (p.there > node)
            for_each_step(nodes, p, [&](const factor_step& s) { by_round[{s.round, node, s.index}] = s; });
        });
      std::map<std::pair<int, int>, int> busy;  // node and time
      int last = 0;
      for (const auto& [key, s] : by_round) {
        const int here = nodes.group[static_cast<std::size_t>(s.here)];
        const int there = nodes.group[static_cast<std::size_t>(s.there)];
        const int port = port_of(s, ports);
        const int start = std::max(free_at[{here, port}], free_at[{there, port}]);
        free_at[{here, port}] = free_at[{there, port}] = start + 1;
        EXPECT_LE(++busy[std::pair(here, start)], ports);
        EXPECT_LE(++busy[std::pair(there, start)], ports);
        last = std::max(last, start + 1);
      }
      const int p = std::accumulate(sizes.begin(), sizes.end(), 0);
      const auto all = nodes.factor_steps();
      const int rounds = 1 + (by_round.empty() ? -1 : by_round.rbegin()->first[0]);
      EXPECT_LE(last, ports == 1 ? all : all / ports + rounds);
      for (const int n : sizes) EXPECT_GE(last * ports, n * (p - n));
    }
  }
}

int ranks_of(const std::vector<int>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 0); }

// Phases as Sanders & Träff's Figure 2 has them: for each, how many local indices it serves, and of how many nodes.
std::vector<std::pair<int, int>> phases_of(std::vector<int> sizes) {
  std::ranges::sort(sizes);
  std::vector<std::pair<int, int>> phases;
  int done = 0;
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    if (sizes[n] > done) phases.emplace_back(sizes[n] - done, static_cast<int>(sizes.size() - n));
    done = sizes[n];
  }
  return phases;
}

// n(p − n + n₂(k − 1))/k.
double most_steps(const level& nodes, int k) {
  const int n = nodes.largest();
  const auto p = static_cast<double>(nodes.ranks.size());
  return n * (p - n + nodes.second_largest() * (k - 1.0)) / k;
}

// Ranks of different nodes that have been served, and how often.
using served_pairs = std::map<std::pair<int, int>, int>;

void expect_all_between_nodes(const served_pairs& served, const std::vector<int>& sizes, const level& nodes) {
  std::size_t inside = 0;
  for (const int n : sizes) inside += static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const auto p = static_cast<std::size_t>(ranks_of(sizes));
  EXPECT_EQ(served.size() + inside, p * p);
  for (const auto& [pair, times] : served) {
    EXPECT_EQ(times, 1);
    EXPECT_NE(nodes.group[static_cast<std::size_t>(pair.first)], nodes.group[static_cast<std::size_t>(pair.second)]);
  }
}

// §3: "a decomposition into permutations (directed cycles)".
TEST(node_permutations, are_permutations_without_fixed_nodes_in_every_round) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    std::map<int, std::map<int, int>> to;  // per round
    std::map<int, std::map<int, int>> from;
    for (int node = 0; node < t.nodes().groups(); ++node)
      for_each_permutation(t.nodes(), node, memory, [&](const node_permutation& p) {
        EXPECT_EQ(p.to.round, p.from.round);
        EXPECT_NE(p.to.there, node);
        to[p.to.round][node] = p.to.there;
        from[p.to.round][node] = p.from.there;
      });
    int rounds = 0;
    for (const auto& [indices, active] : phases_of(sizes)) rounds += active - 1;
    EXPECT_EQ(to.size(), static_cast<std::size_t>(rounds));
    for (const auto& [round, targets] : to) {
      std::set<int> all;
      for (const auto& [node, target] : targets) {
        all.insert(target);
        EXPECT_TRUE(targets.contains(target));
        EXPECT_EQ(from[round][target], node);
      }
      EXPECT_EQ(all.size(), targets.size());
    }
  }
}

// Each step occupies a port out of its sender's node and the same one into its receiver's. With one port no node has
// two messages out or in at a time, and all steps are n(p − n): as many as the busiest node has to send.
TEST(node_permutations, are_optimal_with_one_port_and_within_the_bound_with_more) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const level& nodes = t.nodes();
    for (const int ports : {1, 2, 3, 8}) {
      served_pairs served;
      std::map<std::array<int, 3>, factor_step> in_order;  // round, index, sending node
      std::map<std::array<int, 3>, factor_step> at_receivers;
      for (int node = 0; node < nodes.groups(); ++node)
        for_each_permutation(nodes, node, memory, [&](const node_permutation& p) {
          for_each_step(nodes, p.to, [&](const factor_step& s) { in_order[{s.round, s.index, node}] = s; });
          for_each_step(nodes, p.from, [&](const factor_step& s) {
            at_receivers[{s.round, s.index, p.from.there}] = s;
          });
        });
      ASSERT_EQ(in_order.size(), at_receivers.size());
      std::map<std::pair<int, int>, int> out_free;  // node and port
      std::map<std::pair<int, int>, int> in_free;
      int last = 0;
      for (const auto& [key, s] : in_order) {
        EXPECT_EQ(at_receivers.at(key).here, s.there);
        EXPECT_EQ(at_receivers.at(key).there, s.here);
        ++served[{s.here, s.there}];
        const int port = s.round % ports;
        int& out = out_free[{key[2], port}];
        int& in = in_free[{nodes.group[static_cast<std::size_t>(s.there)], port}];
        out = in = std::max(out, in) + 1;
        last = std::max(last, out);
      }
      expect_all_between_nodes(served, sizes, nodes);
      const int n = nodes.largest();
      if (ports == 1) {
        EXPECT_EQ(last, n * (ranks_of(sizes) - n));
      }
      EXPECT_LE(last, most_steps(nodes, ports));
      EXPECT_GE(last * ports, n * (ranks_of(sizes) - n));
    }
  }
}

// §3: "the complete graph is decomposed into graphs with degrees at most k". An edge is the same at both its nodes, and
// at no node do two edges of a graph share a port.
TEST(k_factors, have_at_most_k_partners_of_a_node_at_different_ports) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const level& nodes = t.nodes();
    for (const int k : {1, 2, 3, 4, 8}) {
      std::map<std::array<int, 3>, port_pairing> edges;  // round, node, node
      for (int node = 0; node < nodes.groups(); ++node) {
        std::map<int, std::set<int>> ports;  // per round
        for_each_port_pairing(nodes, node, k, memory, [&](const port_pairing& p) {
          EXPECT_TRUE(p.port >= 0 && p.port < k);
          EXPECT_TRUE(ports[p.with.round].insert(p.port).second);
          if (p.with.there != node) {
            EXPECT_TRUE(edges.try_emplace({p.with.round, node, p.with.there}, p).second);
          }
        });
      }
      for (const auto& [key, p] : edges) {
        const port_pairing& other = edges.at({key[0], key[2], key[1]});
        EXPECT_EQ(p.label, other.label);
        EXPECT_TRUE(p.label == p.port || p.label == other.port);
        EXPECT_EQ(p.with.done, other.with.done);
        EXPECT_EQ(p.with.current, other.with.current);
      }
    }
  }
}

// With an odd number of nodes and even k no node is left out of a graph: a phase of m nodes has ⌈(m − 1)/k⌉ graphs.
// Only for odd m and odd k, where no graph has degree k at each node, are there ⌈m/k⌉.
TEST(k_factors, are_as_few_graphs_as_their_degree_allows) {
  for (int m = 2; m <= 17; ++m)
    for (int k = 1; k <= 8; ++k) {
      const topology t = topology::of_single_ranks(m);
      std::map<int, int> at_port;
      for_each_port_pairing(t.nodes(), 0, k, memory, [&](const port_pairing& p) { ++at_port[p.port]; });
      int graphs = 0;
      for (const auto& [port, edges] : at_port) graphs = std::max(graphs, edges);
      EXPECT_EQ(graphs, m % 2 != 0 && k % 2 != 0 ? (m + k - 1) / k : (m - 1 + k - 1) / k)
          << m << " nodes, degree " << k;
    }
}

// Every step takes one unit of time on a port of both its nodes.
TEST(k_factors, serve_every_pair_of_ranks_once_within_the_bound) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const level& nodes = t.nodes();
    bool all_even = true;
    for (const auto& [indices, active] : phases_of(sizes)) all_even = all_even && (active % 2 == 0 || active == 1);
    for (const int k : {1, 2, 3, 4, 8}) {
      served_pairs served;
      std::map<std::array<int, 4>, factor_step> in_order;  // round, index, both nodes
      std::map<std::array<int, 3>, int> port_at;           // round, node, other node
      for (int node = 0; node < nodes.groups(); ++node)
        for_each_port_pairing(nodes, node, k, memory, [&](const port_pairing& p) {
          if (p.with.there == node) return;
          port_at[{p.with.round, node, p.with.there}] = p.port;
          for_each_step(nodes, p.with, [&](const factor_step& s) {
            ++served[{s.here, s.there}];
            if (node < p.with.there) in_order[{s.round, s.index, node, p.with.there}] = s;
          });
        });
      expect_all_between_nodes(served, sizes, nodes);
      std::map<std::pair<int, int>, int> free_at;  // node and port
      int last = 0;
      for (const auto& [key, step] : in_order) {
        const auto [round, index, a, b] = key;
        int& here = free_at[{a, port_at.at({round, a, b})}];
        int& there = free_at[{b, port_at.at({round, b, a})}];
        here = there = std::max(here, there) + 1;
        last = std::max(last, here);
      }
      const int n = nodes.largest();
      const double moved = n * (ranks_of(sizes) - n);
      EXPECT_LE(last, moved / k + n * nodes.second_largest());
      if (k % 2 == 0 || all_even) {
        EXPECT_LE(last, most_steps(nodes, k));
      }
      EXPECT_GE(last * k, moved);
    }
  }
}

}  // namespace
}  // namespace taquin::detail
