#include <gtest/gtest.h>

#include "algorithms/algorithm.hpp"
#include "program.hpp"

namespace taquin::cli {
namespace {

TEST(plan, prints_the_rounds_of_one_rank) {
  const auto r = taquin(0, "plan -n 4 -r 1 -a pairwise -b 1K");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(occurrences(r.out, "\nround "), 3) << r.out;
  EXPECT_EQ(occurrences(r.out, "send to"), 3) << r.out;
  EXPECT_EQ(occurrences(r.out, "send to       0         256 bytes  send[0, +256)"), 1) << r.out;
  EXPECT_EQ(occurrences(r.out, "recv from     2         256 bytes  receive[512, +256)"), 1) << r.out;
  EXPECT_EQ(occurrences(r.out, "send[256, +256) -> receive[256, +256)"), 1) << r.out;
}

// Rank 1 of 4 in the second of two rounds: it sends on what came in the first, and receives its last two blocks.
TEST(plan, a_bruck_round_tells_which_blocks_go_where) {
  for (const std::string name : {"modified_bruck", "zero_copy_bruck", "lean_bruck"}) {
    const auto r = taquin(0, "plan -n 4 -r 1 --radix 2 --collective alltoall --per-pair -b 3 -a " + name);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(occurrences(r.out, "carries"), 4) << r.out;
    EXPECT_EQ(occurrences(r.out, "1>0"), 1) << r.out;  // one hop
    EXPECT_EQ(occurrences(r.out, "1>2"), 1) << r.out;  // leaves here, for rank 0 to send it on
    EXPECT_EQ(occurrences(r.out, "2>3"), 2) << r.out;  // comes in the first round and goes in the second
    EXPECT_EQ(occurrences(r.out, "3>1"), 1) << r.out;
    EXPECT_EQ(occurrences(r.out, "0>1"), 1) << r.out;
  }
  const auto direct = taquin(0, "plan -n 4 -r 1 --radix 4 --collective alltoall --per-pair -b 3 -a zero_copy_bruck");
  EXPECT_EQ(occurrences(direct.out, "carries"), 0) << direct.out;
}

TEST(plan, every_algorithm_either_prints_a_schedule_or_says_that_it_has_none) {
  for (const auto* a : detail::algorithms()) {
    const std::string name(a->name);
    const auto r = taquin(0, "plan -n 8 -r 3 --collective alltoall -a " + name);
    if (a->build == nullptr) {
      EXPECT_EQ(r.status, 2) << name;
      EXPECT_TRUE(r.said("algorithm '" + name + "' has no schedule")) << r.err;
    } else if (r.status != 2 || !r.said("does not serve")) {
      EXPECT_EQ(r.status, 0) << r.err;
      EXPECT_GE(occurrences(r.out, "\nround "), 1) << r.out;
    }
  }
}

TEST(plan, a_rank_outside_is_a_usage_error) {
  const auto r = taquin(0, "plan -n 4 -r 4 -a pairwise");
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.said("rank 4 does not exist among 4 ranks")) << r.err;
}

}  // namespace
}  // namespace taquin::cli
