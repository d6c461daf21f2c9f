// What ranks do in a sparse exchange, drawn without MPI: every block comes to its rank, in as many messages and rounds
// as each algorithm's documentation says.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/sparse/router.hpp"
#include "base/sizes.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "simulation/sparse_moves.hpp"

namespace taquin::detail {
namespace {

using block = std::pair<int, int>;

sparse_pattern pattern(const std::string& workload, int ranks, count_t bytes, int per_node) {
  auto x = harness::offline_pattern(harness::parse_workload(workload), ranks, bytes, true, 1);
  x.per_node = per_node;
  return x;
}

std::map<block, count_t> blocks_of(const sparse_pattern& x) {
  std::map<block, count_t> all;
  for (int from = 0; from < x.ranks(); ++from)
    for (const sparse_block& b : x.blocks[as_size(from)]) all[{from, b.to}] = b.bytes;
  return all;
}

// Follows the blocks. A rank sends what it had, or its node where nodes share memory, when the round began. `by_nodes`:
// what has come to a node its ranks read there.
void expect_all_arrive(const sparse_pattern& x, const sparse_moves& m, bool by_nodes) {
  const auto expected = blocks_of(x);
  std::vector<std::set<block>> held(as_size(x.nodes()));
  std::map<block, int> arrived;
  std::vector<count_t> own(as_size(x.ranks()));
  std::vector<count_t> out_of_memory(as_size(x.ranks()));
  for (const auto& [b, bytes] : expected) held[as_size(x.node_of(b.first))].insert(b);
  for (const auto& round : m.all.rounds) {
    auto after = held;
    for (const auto& one : round.messages) {
      ASSERT_NE(one.from, one.to);
      count_t carried = 0;
      for (const block& b : one.blocks) {
        ASSERT_TRUE(expected.contains(b));
        EXPECT_TRUE(held[as_size(x.node_of(one.from))].contains(b))
            << one.from << " has no " << b.first << ">" << b.second;
        after[as_size(x.node_of(one.to))].insert(b);
        carried += expected.at(b);
        if (by_nodes ? x.node_of(one.to) == x.node_of(b.second) : one.to == b.second) ++arrived[b];
      }
      EXPECT_GE(one.bytes, carried);
    }
    for (const auto& c : round.copies) {
      if (c.from == place::send && c.to == place::recv) own[as_size(c.rank)] += c.bytes;
      if (c.from == place::shared && c.to == place::recv) out_of_memory[as_size(c.rank)] += c.bytes;
    }
    held = std::move(after);
  }
  for (const auto& [b, bytes] : expected) {
    if (b.first == b.second) {
      EXPECT_EQ(own[as_size(b.first)], bytes) << b.first;
    } else if (arrived[b] == 0 && x.per_node > 1 && x.node_of(b.first) == x.node_of(b.second)) {
      EXPECT_GE(out_of_memory[as_size(b.second)], bytes) << b.first << ">" << b.second;
    } else {
      EXPECT_EQ(arrived[b], 1) << b.first << ">" << b.second;
    }
  }
}

TEST(sparse_moves, bring_every_rank_what_was_sent_to_it) {
  std::map<std::string_view, int> served;
  for (const sparse_algorithm* a : sparse_algorithms())
    for (const int ranks : {1, 2, 3, 5, 8, 16, 17, 64})
      for (const char* workload : {"sparse:3", "all_to_one", "powerlaw", "ring", "empty"})
        for (const count_t bytes : {8, 1024, 20000})
          for (const int per_node : {1, 2, ranks}) {
            SCOPED_TRACE(testing::Message() << a->name << ", " << ranks << " ranks, " << per_node << " on a node, "
                                            << workload << " of " << bytes);
            const auto x = pattern(workload, ranks, bytes, per_node);
            sparse_moves m;
            if (add_sparse_moves(*a, x, m)) continue;
            ++served[a->name];
            expect_all_arrive(x, m, per_node > 1 && a->name == "carried_notices");
          }
  for (const sparse_algorithm* a : sparse_algorithms()) EXPECT_GT(served[a->name], 0) << a->name;
}

// Rounds of a stage, and the messages in them of the rank that sends most and of the one that sends least.
struct counted {
  int rounds = 0;
  int most = 0;
  int least = 0;
};
counted count(const sparse_moves& m, int ranks, std::string_view stage) {
  std::vector<int> sent(as_size(ranks));
  counted c;
  for (std::size_t i = 0; i < m.all.rounds.size(); ++i) {
    if (m.stages[i] != stage) continue;
    ++c.rounds;
    for (const auto& one : m.all.rounds[i].messages) ++sent[as_size(one.from)];
  }
  c.most = *std::ranges::max_element(sent);
  c.least = *std::ranges::min_element(sent);
  return c;
}

sparse_moves moves_of(const sparse_algorithm& a, const sparse_pattern& x) {
  sparse_moves m;
  const auto why_not = add_sparse_moves(a, x, m);
  EXPECT_FALSE(why_not) << *why_not;
  m.drop_empty_rounds();
  return m;
}

int rounds_of(int ranks, int radix) {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= radix) ++rounds;
  return rounds;
}

TEST(sparse_moves, notify_tree_takes_log_rounds_of_a_message_for_each_digit) {
  for (const int ranks : {2, 3, 5, 8, 16, 17, 64, 512}) {
    const int radix = notify_tree.radix(ranks, 32);
    const auto c = count(moves_of(notify_tree, pattern("ring", ranks, 8, 1)), ranks, sparse_moves::find);
    EXPECT_EQ(c.rounds, rounds_of(ranks, radix)) << ranks;
    EXPECT_LE(c.most, rounds_of(ranks, radix) * (radix - 1)) << ranks;
    EXPECT_EQ(c.most, notice_router::channels(ranks, radix)) << ranks;
    EXPECT_EQ(c.least, c.most) << ranks;
  }
}

TEST(sparse_moves, notify_grid_takes_two_rounds_of_a_message_for_each_digit) {
  for (const int ranks : {4, 5, 16, 17, 50, 64, 256}) {
    int side = 2;
    while (side * side < ranks) ++side;
    const auto c = count(moves_of(notify_grid, pattern("ring", ranks, 8, 1)), ranks, sparse_moves::find);
    EXPECT_EQ(c.rounds, 2) << ranks;
    EXPECT_LE(c.most, 2 * (side - 1)) << ranks;
    EXPECT_EQ(c.most, notice_router::channels(ranks, side)) << ranks;
  }
}

TEST(sparse_moves, notices_at_once_are_a_message_for_each_peer_and_a_log_of_others) {
  for (const sparse_algorithm* a : {&notify_nbx, &notify_counts})
    for (const int ranks : {2, 3, 8, 17, 32}) {
      const auto c = count(moves_of(*a, pattern("all_to_one", ranks, 8, 1)), ranks, sparse_moves::find);
      const int log2 = std::bit_width(static_cast<unsigned>(ranks - 1));
      EXPECT_EQ(c.rounds, 1 + log2) << a->name << ranks;
      EXPECT_EQ(c.most, 1 + log2) << a->name << ranks;
      EXPECT_EQ(c.least, log2) << a->name << ranks;  // the one that receives
    }
}

TEST(sparse_moves, small_blocks_on_a_node_are_one_meeting_and_large_ones_no_more) {
  for (const count_t bytes : {count_t{8}, count_t{1} << 20U}) {
    const auto m = moves_of(node_step_way, pattern("sparse:3", 8, bytes, 8));
    EXPECT_TRUE(m.all.through_memory);
    EXPECT_EQ(std::ranges::count(m.meets, true), 1);
  }
}

TEST(sparse_moves, carried_notices_are_a_message_for_each_pair_of_nodes) {
  const auto small = moves_of(between_nodes_way, pattern("powerlaw", 16, 8, 4));
  std::size_t messages = 0;
  for (const auto& round : small.all.rounds) messages += round.messages.size();
  EXPECT_EQ(messages, 4U * 3U);
  EXPECT_EQ(count(small, 16, sparse_moves::move).rounds, 0);
  EXPECT_EQ(count(moves_of(between_nodes_way, pattern("ring", 16, 20000, 4)), 16, sparse_moves::move).rounds, 1);
  EXPECT_EQ(count(moves_of(between_nodes_way, pattern("ring", 64, 20000, 4)), 64, sparse_moves::move).rounds, 2);
}

TEST(sparse_moves, only_what_does_not_travel_with_its_notice_is_asked_for) {
  for (const sparse_algorithm* a : {&notify_tree, &notify_grid, &notify_nbx, &notify_counts}) {
    EXPECT_EQ(count(moves_of(*a, pattern("sparse:3", 8, 1024, 1)), 8, sparse_moves::move).rounds, 0) << a->name;
    EXPECT_EQ(count(moves_of(*a, pattern("sparse:3", 8, 1025, 1)), 8, sparse_moves::move).rounds, 2) << a->name;
  }
}

TEST(sparse_moves, what_an_algorithm_does_not_serve_is_said) {
  sparse_moves m;
  EXPECT_TRUE(add_sparse_moves(notify_nbx, pattern("ring", 34, 8, 1), m));
  EXPECT_TRUE(add_sparse_moves(node_step_way, pattern("ring", 4, 8, 2), m));
  EXPECT_TRUE(add_sparse_moves(between_nodes_way, pattern("ring", 4, 8, 4), m));
}

}  // namespace
}  // namespace taquin::detail
