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

counted count(const level& nodes, inside way) {
  counted c;
  c.one_way.resize(static_cast<std::size_t>(nodes.groups()));
  std::map<int, int> longest;  // per round
  for (int node = 0; node < nodes.groups(); ++node)
    for_each_pairing(nodes, node, way, memory, [&](const pairing& p) {
      if (way == inside::moved && p.there == node) return;
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
    EXPECT_EQ(count(t.nodes(), inside::stepped).steps, p * t.nodes().largest());
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
    for_each_pairing(t.nodes(), node, inside::stepped, memory, [&](const pairing& p) {
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
    EXPECT_EQ(count(t.nodes(), inside::moved).steps, steps);
  }
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    EXPECT_EQ(count(t.nodes(), inside::moved).steps, t.nodes().factor_steps());
  }
}

TEST(factor_steps, at_most_n_squared_are_one_way) {
  for (const auto& sizes : random_sizes()) {
    const auto c = count(topology::of_sizes(sizes).nodes(), inside::stepped);
    for (std::size_t node = 0; node < sizes.size(); ++node) EXPECT_LE(c.one_way[node], sizes[node] * sizes[node]);
  }
}

TEST(factor_steps, pair_every_two_ranks_once) {
  for (const auto& sizes : random_sizes()) {
    const topology t = topology::of_sizes(sizes);
    const int p = std::accumulate(sizes.begin(), sizes.end(), 0);
    const auto stepped = count(t.nodes(), inside::stepped).served;
    EXPECT_EQ(stepped.size(), static_cast<std::size_t>(p * p));
    for (const auto& [pair, times] : stepped) EXPECT_EQ(times, 1);
    for (const auto& [pair, times] : count(t.nodes(), inside::moved).served) {
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
    const auto moved = count(t.nodes(), inside::moved);
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
  EXPECT_EQ(count(topology::of_sizes(even).nodes(), inside::moved).steps, 2 * (8 - 2));
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
        for_each_pairing(nodes, node, inside::moved, memory, [&](const pairing& p) {
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

}  // namespace
}  // namespace taquin::detail
