#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "topology/one_factors.hpp"

namespace taquin::detail {
namespace {

TEST(topology, orders_by_node_then_rank) {
  const level l = level::of("node", std::array{7, 3, 7, 3, 3, 0});
  EXPECT_EQ(l.groups(), 3);
  EXPECT_EQ(l.group, (std::vector{0, 1, 0, 1, 1, 2}));
  EXPECT_EQ(l.index, (std::vector{0, 0, 1, 1, 2, 0}));
  EXPECT_EQ(l.ranks, (std::vector{0, 2, 1, 3, 4, 5}));
  EXPECT_EQ(l.member(1, 2), 4);
  EXPECT_EQ(l.largest(), 3);
  EXPECT_EQ(l.smallest(), 1);
}

TEST(topology, sizes_fill_in_rank_order) {
  const topology t = topology::of_sizes(std::array{1, 4, 2});
  EXPECT_EQ(t.nodes().group, (std::vector{0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(topology::of_single_ranks(3).nodes().group, (std::vector{0, 1, 2}));
}

TEST(topology, levels_refine_and_useless_ones_are_left_out) {
  topology t = topology::of_sizes(std::array{4, 2});
  t.refine("package", std::array{0, 0, 0, 0, 0, 0});
  EXPECT_EQ(t.levels.size(), 1U);
  t.refine("package", std::array{0, 1, 0, 1, 0, 0});
  ASSERT_EQ(t.levels.size(), 2U);
  EXPECT_EQ(t.levels[1].name, "package");
  EXPECT_EQ(t.levels[1].group, (std::vector{0, 1, 0, 1, 2, 2}));
}

TEST(one_factors, every_two_vertices_meet_once) {
  for (int n = 1; n <= 65; ++n) {
    std::vector<int> met(static_cast<std::size_t>(n * n));
    for (int i = 0; i < factors(n); ++i)
      for (int u = 0; u < n; ++u) {
        const int v = partner(n, i, u);
        ASSERT_TRUE(0 <= v && v < n) << n;
        ASSERT_EQ(partner(n, i, v), u) << n;
        ++met[static_cast<std::size_t>(u * n + v)];
      }
    for (int u = 0; u < n; ++u)
      for (int v = 0; v < n; ++v)
        ASSERT_EQ(met[static_cast<std::size_t>(u * n + v)], u == v && n % 2 == 0 ? 0 : 1) << n << ' ' << u << ' ' << v;
  }
}

}  // namespace
}  // namespace taquin::detail
