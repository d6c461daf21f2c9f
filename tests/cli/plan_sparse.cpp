// taquin plan --collective sparse from outside.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "program.hpp"

namespace taquin::cli {
namespace {

TEST(plan_sparse, brings_every_block_by_each_algorithm_that_serves) {
  for (const auto* a : detail::sparse_algorithms()) {
    const auto r = taquin(0, "plan -n 6 --collective sparse -w ring --per-pair -b 100 --per-node " +
                                 std::string(a == &detail::node_step_algorithm ? "6" : "1") + " -a " +
                                 std::string(a->name) + " --json -");
    if (r.status != 0) {  // one that ranks without a common node cannot use
      EXPECT_NE(r.err.find("does not serve"), std::string::npos) << r.err;
      continue;
    }
    const auto plan = r.json();
    EXPECT_EQ(plan["algorithm"], std::string(a->name));
    EXPECT_EQ(plan["collective"], "sparse");
    EXPECT_EQ(plan["bytes_per_rank"], 200);
    EXPECT_EQ(plan["stages"].size(), plan["rounds"].size());
    EXPECT_EQ(plan["meets"].size(), plan["rounds"].size());
  }
}

TEST(plan_sparse, says_what_one_rank_does_in_each_stage) {
  const auto r = taquin(0, "plan -n 8 -r 3 --collective sparse -w ring --per-pair -b 2K -a notify_tree");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("notify_tree, rank 3 of 8"), std::string::npos) << r.out;
  for (const char* stage : {"(agree", "(find", "(move"})
    EXPECT_NE(r.out.find(stage), std::string::npos) << stage << "\n" << r.out;
}

TEST(plan_sparse, wrong_arguments_are_told_once_with_status_2) {
  const std::array<std::pair<const char*, const char*>, 4> cases{
      {{"--collective sparse -w ring -b 1K -n 4 -a auto", "name an algorithm"},
       {"--collective sparse -w ring -b 1K -n 4 -a pairwise", "unknown sparse algorithm 'pairwise'"},
       {"--collective sparse -w ring -b 1K -n 4 -r 4 -a notify_tree", "rank 4 does not exist among 4 ranks"},
       {"--collective sparse -w ring -b 1K -n 5000 -a notify_tree", "at most 4096 ranks"}}};
  expect_refused("plan", cases);
}

}  // namespace
}  // namespace taquin::cli
