// The moves of ranks in a sparse exchange, drawn without MPI: every block arrives at its rank, in as many messages and
// rounds as each algorithm's documentation states.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/sparse/between_nodes.hpp"
#include "algorithms/sparse/followed.hpp"
#include "algorithms/sparse/router.hpp"
#include "base/sizes.hpp"
#include "call/forwarded_blocks.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "simulation/sparse_moves.hpp"

namespace taquin::detail {
namespace {

sparse_pattern pattern(const std::string& workload, int ranks, count_t bytes, int per_node) {
  auto x = harness::offline_pattern(harness::parse_workload(workload), ranks, bytes, true, 1);
  x.per_node = per_node;
  return x;
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
            EXPECT_EQ(wrong_in(x, m, reads_of_nodes(*a)), "");
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
    EXPECT_EQ(c.most, header_router::channels(ranks, radix)) << ranks;
    EXPECT_EQ(c.least, c.most) << ranks;
  }
}

TEST(sparse_moves, small_blocks_on_a_node_are_one_meeting_and_large_ones_no_more) {
  for (const count_t bytes : {count_t{8}, count_t{1} << 20U}) {
    const auto m = moves_of(node_step_algorithm, pattern("sparse:3", 8, bytes, 8));
    EXPECT_TRUE(m.all.through_memory);
    EXPECT_EQ(std::ranges::count(m.synchronizes, true), 1);
  }
}

TEST(sparse_moves, carried_notices_are_a_message_for_each_pair_of_nodes) {
  const auto small = moves_of(between_nodes_algorithm, pattern("powerlaw", 16, 8, 4));
  std::size_t messages = 0;
  for (const auto& round : small.all.rounds) messages += round.messages.size();
  EXPECT_EQ(messages, 4U * 3U);
  EXPECT_EQ(count(small, 16, sparse_moves::move).rounds, 0);
  EXPECT_EQ(count(moves_of(between_nodes_algorithm, pattern("ring", 16, 20000, 4)), 16, sparse_moves::move).rounds, 1);
  EXPECT_EQ(count(moves_of(between_nodes_algorithm, pattern("ring", 64, 20000, 4)), 64, sparse_moves::move).rounds, 2);
}

// The more ranks, the less place a step among nodes has for a block.
TEST(sparse_moves, blocks_travel_with_the_step_as_far_as_it_has_place_for_them) {
  for (const auto& [ranks, most] : {std::pair{16, 8192 - 8}, std::pair{64, 51 * 64 - 8}, std::pair{1024, 3 * 64 - 8}}) {
    EXPECT_EQ(
        count(moves_of(between_nodes_algorithm, pattern("ring", ranks, most, 4)), ranks, sparse_moves::move).rounds, 0);
    EXPECT_GT(
        count(moves_of(between_nodes_algorithm, pattern("ring", ranks, most + 1, 4)), ranks, sparse_moves::move).rounds,
        0);
  }
}

// A message for each digit, as the agreement has it without blocks.
TEST(sparse_moves, carried_notices_of_single_ranks_take_the_rounds_of_their_agreement) {
  for (const int ranks : {17, 32, 33, 64, 513}) {
    const int radix = agreement_radix(ranks);
    const auto c =
        count(moves_of(between_nodes_algorithm, pattern("sparse:3", ranks, 8, 1)), ranks, sparse_moves::find);
    EXPECT_EQ(c.rounds, rounds_of(ranks, radix)) << ranks;
    EXPECT_EQ(c.most, header_router::channels(ranks, radix)) << ranks;
    EXPECT_EQ(c.least, c.most) << ranks;
    const auto most = static_cast<count_t>(forwarded_blocks::most_bytes_of(ranks) - piggybacked_headers::of_count);
    const auto moved = [&](count_t bytes) {
      return count(moves_of(between_nodes_algorithm, pattern("ring", ranks, bytes, 1)), ranks, sparse_moves::move)
          .rounds;
    };
    EXPECT_EQ(moved(most), 0) << ranks;
    EXPECT_EQ(moved(most + 1), ranks <= 32 ? 1 : 2) << ranks << ": without requests, if no rank may get too many";
  }
}

TEST(sparse_moves, only_what_does_not_travel_with_its_notice_is_asked_for) {
  EXPECT_EQ(count(moves_of(notify_tree, pattern("sparse:3", 8, 1024, 1)), 8, sparse_moves::move).rounds, 0);
  EXPECT_EQ(count(moves_of(notify_tree, pattern("sparse:3", 8, 1025, 1)), 8, sparse_moves::move).rounds, 2);
}

TEST(sparse_moves, what_an_algorithm_does_not_serve_is_said) {
  sparse_moves m;
  EXPECT_TRUE(add_sparse_moves(node_step_algorithm, pattern("ring", 4, 8, 2), m));
  EXPECT_TRUE(add_sparse_moves(between_nodes_algorithm, pattern("ring", 4, 8, 4), m));
}

}  // namespace
}  // namespace taquin::detail
