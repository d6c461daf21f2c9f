// taquin simulate and taquin explain with redistributions, from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "program.hpp"
#include "redistribute/machine.hpp"

namespace taquin::cli {
namespace {

TEST(predict_redistribution, simulate_has_a_formula_and_a_run_of_every_algorithm) {
  const auto r =
      taquin(0, "simulate -n 4..8 --collective redistribution -w transpose --blocks 40 --free 8 -b 64K --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 2 * detail::redistributions().size());
  for (const auto& one : r.json()) {
    EXPECT_GT(one["formula_s"].get<double>(), 0) << one;
    EXPECT_GT(one["schedule_s"].get<double>(), one["formula_s"].get<double>() / 3) << one;
  }
}

TEST(predict_redistribution, simulate_takes_the_name_alone) {
  const auto r = taquin(0, "simulate -n 4 -a parking,cyclic -w shift --blocks 20 -b 64K --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 2U);
  EXPECT_EQ(r.json()[0]["algorithm"], "parking");
  EXPECT_EQ(r.json()[1]["algorithm"], "cyclic");
}

// Experiment 3 of Siegel & Siegel: without free space parking needs a phase for each block, cyclic sorts once.
TEST(predict_redistribution, parking_blows_up_as_free_space_vanishes_and_cyclic_does_not) {
  const auto times = [](int free) {
    const auto r =
        taquin(0, "simulate -n 8 -a parking,cyclic -w shift --blocks 64 -b 1M --json --free " + std::to_string(free));
    EXPECT_EQ(r.status, 0) << r.err;
    std::map<std::string, double> all;
    for (const auto& one : r.json()) all[one["algorithm"]] = one["schedule_s"];
    return all;
  };
  auto full = times(0);
  auto free = times(32);
  EXPECT_GT(full["parking"], 10 * free["parking"]);
  EXPECT_LT(full["cyclic"], 4 * free["cyclic"]);
}

TEST(predict_redistribution, explain_marks_one_that_fits_as_chosen) {
  for (const std::string memory : {"unlimited", "64K"}) {
    const auto r =
        taquin(0, "explain -n 8 --collective redistribution -w random --blocks 32 -b 1M --json -m " + memory);
    ASSERT_EQ(r.status, 0) << r.err;
    const auto rows = r.json();
    ASSERT_EQ(rows.size(), detail::redistributions().size());
    EXPECT_EQ(std::ranges::count_if(rows, [](const auto& row) { return row["chosen"].template get<bool>(); }), 1);
    for (const auto& row : rows) {
      EXPECT_TRUE(!row["chosen"].get<bool>() || row["fits"].get<bool>()) << row;
      EXPECT_EQ(row["predicted_s"].is_null(), !row["fits"].get<bool>()) << row;
    }
  }
}

TEST(predict_redistribution, options_without_a_meaning_are_refused) {
  EXPECT_TRUE(taquin(0, "simulate -n 4 -a spread_out --blocks 20").said("of redistributions"));
  EXPECT_TRUE(taquin(0, "explain -n 4 --free 2").said("of redistributions"));
  EXPECT_TRUE(taquin(0, "simulate -n 4 -a parking,spread_out").said("unknown redistribution algorithm"));
  EXPECT_TRUE(taquin(0, "explain -n 4 --collective redistribution --in-place").said("no meaning"));
}

}  // namespace
}  // namespace taquin::cli
