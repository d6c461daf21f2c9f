// The messages of an exchange level by level, for all ranks of many communicators in one process.
#include "algorithms/nodes/level_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace taquin::detail {
namespace {

using named = std::pair<int, int>;  // a block, by sender and receiver

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Partitions, crosses and delivers names of blocks: inside groups and between them every message arrives.
std::vector<std::vector<named>> delivered(const level& groups) {
  const int p = static_cast<int>(groups.ranks.size());
  std::vector<std::vector<std::vector<named>>> out(at(p));  // of each rank, by local ranks
  for (int rank = 0; rank < p; ++rank) {
    const level_part part(groups, rank);
    out[at(rank)].resize(at(part.size()));
    for (int i = 0; i < part.size(); ++i)
      part.for_each_served(i, [&](int to) { out[at(rank)][at(i)].emplace_back(rank, to); });
  }
  std::vector<std::vector<named>> in(at(p));
  for (int group = 0; group < groups.groups(); ++group)  // by groups, as messages are in a column's receive side
    for (const int rank : groups.members(group)) {
      const level_part part(groups, rank);
      std::size_t which = 0;
      for (int k = 0; k < level_part::columns_of(part.size(), groups.largest()); ++k)
        part.for_each_in_column(k, [&](int to_group) {
          const int column = part.me() + k * part.size();
          const int receiver = groups.member(to_group, column % groups.size(to_group));
          for (const int from : groups.members(group)) in[at(receiver)].push_back(out[at(from)][at(part.me())][which]);
          ++which;
        });
      EXPECT_EQ(which, out[at(rank)][at(part.me())].size());
    }
  return in;
}

void check(const level& groups) {
  const auto in = delivered(groups);
  for (int rank = 0; rank < static_cast<int>(in.size()); ++rank) {
    std::vector<named> expected;
    for (int group = 0; group < groups.groups(); ++group)
      for (const int from : groups.members(group)) expected.emplace_back(from, rank);
    ASSERT_EQ(in[at(rank)], expected) << "rank " << rank;
  }
}

TEST(level_parts, bring_every_block_to_its_receiver_in_order) {
  std::mt19937 random(11);
  for (int p = 1; p <= 64; ++p) {
    for (int k = 0; k < 20; ++k) {
      std::vector<int> colours(at(p));
      const int groups = 1 + static_cast<int>(random() % 9);
      for (int& c : colours) c = static_cast<int>(random()) % groups;
      if (k % 2 == 0) std::ranges::sort(colours);
      check(level::of("node", colours));
    }
    check(topology::of_single_ranks(p).nodes());
  }
  std::vector<int> many(1500);
  for (int& c : many) c = static_cast<int>(random() % 100);
  check(level::of("node", many));
}

TEST(level_parts, give_each_column_one_rank_of_each_group) {
  const level groups = topology::of_sizes(std::vector{1, 4, 2}).nodes();
  const auto columns_of = [&](int rank) {
    std::vector<int> columns;
    const int group = groups.group[at(rank)];
    for_each_column(groups.index[at(rank)], groups.size(group), groups.largest(), [&](int c) { columns.push_back(c); });
    return columns;
  };
  EXPECT_EQ(columns_of(0), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(columns_of(1), (std::vector{0}));
  EXPECT_EQ(columns_of(5), (std::vector{0, 2}));
  EXPECT_EQ(columns_of(6), (std::vector{1, 3}));
}

}  // namespace
}  // namespace taquin::detail
