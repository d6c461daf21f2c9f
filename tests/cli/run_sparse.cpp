// taquin run --collective sparse from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "program.hpp"

namespace taquin::cli {
namespace {

TEST(run_sparse, every_pattern_has_whole_records_beside_those_of_the_ways_by_hand) {
  for (const char* what : {"sparse:2", "all_to_one", "powerlaw", "ring", "empty"}) {
    const auto r =
        taquin(3, std::string("run --collective sparse -b 100 --per-pair -a auto --reps 2 --json - -w ") + what);
    ASSERT_EQ(r.status, 0) << what << r.err;
    const auto records = r.json();
    ASSERT_EQ(records.size(), 4U) << what;
    EXPECT_EQ(records[0]["algorithm"], "nbx");
    EXPECT_EQ(records[1]["algorithm"], "counts_reduced");
    EXPECT_EQ(records[2]["algorithm"], "counts_exchanged");
    EXPECT_EQ(records[3]["asked"], "auto");
    for (const auto& one : records) {
      EXPECT_EQ(one["workload"], what);
      EXPECT_EQ(one["collective"], "sparse");
      EXPECT_EQ(one["ranks"], 3);
      EXPECT_EQ(one["wrong_bytes"], 0) << one;
      EXPECT_GT(one["median_s"].get<double>(), 0.0);
      EXPECT_GT(one["ratio_to_native"].get<double>(), 0.0);
      for (const char* number : {"bytes_per_rank", "peak_memory", "rounds", "messages", "bytes_sent", "bytes_copied"})
        EXPECT_TRUE(one[number].is_number_unsigned()) << number << one;
    }
  }
}

TEST(run_sparse, bytes_per_pair_are_those_for_each_destination) {
  const auto r = taquin(4, "run --collective sparse -w sparse:2 -b 100 --per-pair -a notify_tree --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto& one : r.json()) EXPECT_EQ(one["bytes_per_rank"], 200) << one;
  EXPECT_EQ(r.json()[0]["messages"], 2);
  EXPECT_EQ(r.json()[0]["bytes_sent"], 200);
  EXPECT_EQ(r.json()[3]["algorithm"], "notify_tree");
}

TEST(run_sparse, ratios_are_to_the_fastest_by_hand) {
  const auto r = taquin(2, "run --collective sparse -w ring -b 8 --per-pair -a nbx --reps 3 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto records = r.json();
  ASSERT_EQ(records.size(), 3U) << "each way once";
  EXPECT_EQ(std::ranges::count_if(records, [](const auto& one) { return one["ratio_to_native"] == 1.0; }), 1);
}

TEST(run_sparse, memory_that_is_too_small_is_a_record_with_the_reason) {
  const auto r = taquin(2, "run --collective sparse -w ring -b 8 --per-pair -a notify_tree -m 1 --reps 2 --json -");
  EXPECT_EQ(r.status, 1);
  const auto last = r.json().back();
  EXPECT_EQ(last["algorithm"], "notify_tree");
  EXPECT_EQ(last["memory_limit"], 1);
  EXPECT_NE(last["reason"].get<std::string>().find("1 are allowed"), std::string::npos) << last;
}

TEST(run_sparse, wrong_arguments_are_told_once_with_status_2) {
  const std::pair<const char*, const char*> cases[] = {
      {"-a pairwise",
       "unknown sparse algorithm 'pairwise'; known are all, auto, node_step, piggybacked_headers, "
       "notify_tree"},
      {"--in-place", "without --in-place"},
      {"-w bogus", "unknown workload 'bogus'"},
  };
  expect_refused("run --collective sparse", cases);
}

}  // namespace
}  // namespace taquin::cli
