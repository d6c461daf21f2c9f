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

TEST(predict_redistribution, simulate_predicts_moves_between_layouts_by_formula_and_by_all_chunks) {
  const auto r = taquin(0, "simulate -n 4..16 --shape 1024x1024 --from 2x2 --to 1x4/32x16:f --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 3U);
  for (const auto& one : r.json()) {
    EXPECT_EQ(one["algorithm"], "layouts");
    EXPECT_EQ(one["workload"], "layouts");
    // Rank 0 keeps the 512 rows that it has of its columns of the target: a quarter of 512.
    EXPECT_EQ(one["bytes_per_rank"], 512 * (512 - 128) * 8);
    const double run = one["schedule_s"];
    EXPECT_GT(one["formula_s"].get<double>(), run / 3) << one;
    EXPECT_LT(one["formula_s"].get<double>(), run * 3) << one;
  }
}

TEST(predict_redistribution, simulate_predicts_moves_between_layouts_on_100000_ranks) {
  const auto r =
      taquin(0, "simulate -n 100000 --per-node 100 --shape 1000000x800000 --from 250x400 --to 400x250/64x64:f --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 1U);
  const auto one = r.json().front();
  EXPECT_EQ(one["ranks"], 100000);
  EXPECT_EQ(one["nodes"], "1000 nodes of 100 ranks, a core for each rank");
  EXPECT_TRUE(one["schedule_s"].is_null());
  EXPECT_GT(one["formula_s"].get<double>(), 0);
  EXPECT_LE(one["bytes_per_rank"].get<double>(), 4000.0 * 2000 * 8);
  EXPECT_GT(one["bytes_per_rank"].get<double>(), 3900.0 * 2000 * 8);
  const std::pair<const char*, const char*> cases[] = {
      {"-n 4 --from 2x2 --to 4x1 -w zipf", "--workload excludes --from"},
      {"-n 4 --from 2x2", "--from and --to belong together"},
      {"-n 3 --from 2x2 --to 3x1", "--from: "}};
  expect_refused("simulate", cases);
}

}  // namespace
}  // namespace taquin::cli
