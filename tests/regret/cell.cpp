#include "bench/regret/cell.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "bench/regret/summary.hpp"
#include "workloads/workload.hpp"

namespace taquin::regret {
namespace {

TEST(cell, comes_back_from_its_text) {
  std::mt19937_64 random(1);
  for (const int ranks : {2, 5})
    for (int i = 0; i < 500; ++i) {
      const cell c = random_cell(random, ranks);
      EXPECT_EQ(to_text(parse_cell(to_text(c))), to_text(c));
      cell without_seed = c;
      without_seed.seed = parse_cell(to_text(c)).seed;
      EXPECT_EQ(parse_cell(to_text(c)), without_seed);
    }
}

TEST(cell, refuses_text_that_says_nothing_of_a_call) {
  for (const char* text : {"byte=4", "bytes", "bytes=4x", "bytes=", "=4"})
    EXPECT_THROW(parse_cell(text), std::invalid_argument) << text;
}

TEST(cell, draws_every_kind_of_call_of_known_workloads) {
  std::mt19937_64 random(2);
  std::set<std::string> uses;
  count_t least = 1 << 20;
  count_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const cell c = random_cell(random, 4);
    uses.insert(c.use);
    if (c.use == "blocks") continue;
    least = std::min(least, c.bytes), most = std::max(most, c.bytes);
    EXPECT_NO_THROW(workloads::workload::parse(c.workload)) << c.workload;
    EXPECT_TRUE(c.form != "alltoall" || c.workload == "uniform");
  }
  EXPECT_EQ(uses, (std::set<std::string>{"call", "plan", "overlap", "in_place", "blocks"}));
  EXPECT_LT(least, 8);
  EXPECT_GT(most, 4 << 20);
}

// Shrinking ends: whatever is chosen, nothing is simpler than the simplest.
TEST(cell, becomes_simpler_until_nothing_is_left) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    cell c = random_cell(random, 4);
    int steps = 0;
    for (auto next = simpler(c); !next.empty(); next = simpler(c)) {
      c = next[random() % next.size()];
      ASSERT_LT(++steps, 100);
    }
    EXPECT_EQ(c.bytes, 1);
    EXPECT_EQ(c.skew, 0);
  }
}

TEST(cell, is_counted_with_its_family) {
  EXPECT_EQ(family_of(parse_cell("use=plan bytes=1"), false), "calls");
  EXPECT_EQ(family_of(parse_cell("use=in_place bytes=1"), false), "in_place");
  EXPECT_EQ(family_of(parse_cell("use=call bytes=1"), true), "choice");
}

}  // namespace
}  // namespace taquin::regret
