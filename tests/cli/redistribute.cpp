// taquin redistribute from outside: what its records hold, and how it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>

#include "program.hpp"
#include "redistribute/machine.hpp"

namespace taquin::cli {
namespace {

void expect_figures(const nlohmann::json& r, int ranks) {
  EXPECT_EQ(r["ranks"], ranks) << r;
  for (const char* text : {"algorithm", "workload"}) EXPECT_TRUE(r[text].is_string()) << text << r;
  for (const char* number : {"bytes_per_rank", "peak_memory", "rounds", "messages", "bytes_sent", "bytes_copied"})
    EXPECT_TRUE(r[number].is_number_integer()) << number << r;
  EXPECT_TRUE(r["memory_limit"].is_null() || r["memory_limit"].is_number());
  ASSERT_EQ(r["ci95_s"].size(), 2U);
  EXPECT_LE(r["ci95_s"][0], r["median_s"]);
  EXPECT_GE(r["ci95_s"][1], r["median_s"]);
  EXPECT_GT(r["median_s"], 0.0);
  EXPECT_GT(r["ratio_to_native"], 0.0);
  EXPECT_EQ(r["wrong_bytes"], 0);
}

void expect_redistribution(const nlohmann::json& r, int ranks) {
  expect_figures(r, ranks);
  for (const char* number : {"blocks", "block_bytes", "free_blocks"})
    EXPECT_TRUE(r[number].is_number_integer()) << number << r;
  EXPECT_EQ(r["in_place"], true);
}

TEST(redistribute, every_algorithm_moves_every_workload_and_all_bytes_are_right) {
  for (const char* workload : {"shift", "transpose", "one_empty", "one_cycle", "random"})
    for (const char* free : {"0%", "20%"}) {
      if (*free != '0' && std::string(workload).starts_with("one_")) continue;  // refused
      const std::string what = std::string("-w ") + workload + " --free " + free;
      const auto r = taquin(3, "redistribute -a all --blocks 30 --block-bytes 52 --reps 2 --json - " + what);
      ASSERT_EQ(r.status, 0) << what << r.err;
      const auto records = r.json();
      ASSERT_EQ(records.size(), 1 + detail::redistributions().size()) << what;
      EXPECT_EQ(records[0]["algorithm"], "native");
      for (std::size_t i = 0; i < records.size(); ++i) {
        expect_redistribution(records[i], 3);
        EXPECT_EQ(records[i]["workload"], workload);
        if (i > 0) {
          EXPECT_EQ(records[i]["algorithm"], detail::redistributions()[i - 1]->name);
          EXPECT_GT(records[i]["peak_memory"], 0);
        }
      }
      EXPECT_TRUE(r.said("95% interval")) << "the table goes to standard error";
    }
}

TEST(redistribute, counts_blocks_bytes_and_messages) {
  const auto r = taquin(4, "redistribute -a slots -w shift -b 64K --block-bytes 1K --free 25% --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto records = r.json();
  ASSERT_EQ(records.size(), 2U);
  for (const auto& one : records) {
    EXPECT_EQ(one["blocks"], 64);
    EXPECT_EQ(one["free_blocks"], 16);
    EXPECT_EQ(one["block_bytes"], 1024);
    EXPECT_EQ(one["bytes_per_rank"], 48 * 1024);
  }
  EXPECT_EQ(records[0]["messages"], 1);
  EXPECT_EQ(records[0]["bytes_sent"], 48 * 1024);
  EXPECT_GE(records[1]["bytes_sent"], 48 * 1024) << "the blocks, and requests";
}

TEST(redistribute, arrays_go_from_one_layout_to_another_and_all_bytes_are_right) {
  for (const char* what : {"--shape 37x23 --from 2x2/3x4:f --to 1x3/5x2 --element 24 -m 16K",
                           "--shape 12x10x7 --from 4x1x1 --to 1x2x1 --axes 2,0,1", "--shape 50 --from 4 --to 3/1"}) {
    const auto r = taquin(4, std::string("redistribute --reps 2 --json - ") + what);
    ASSERT_EQ(r.status, 0) << what << r.err;
    const auto records = r.json();
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[0]["algorithm"], "native");
    EXPECT_EQ(records[1]["algorithm"], "layouts");
    EXPECT_EQ(records[2]["asked"], "in_one_array");
    for (const auto& one : records) expect_figures(one, 4);
    EXPECT_GT(records[1]["predicted_s"], 0);
    EXPECT_TRUE(records[0]["predicted_s"].is_null() && records[2]["predicted_s"].is_null());
  }
  const auto refused = taquin(2, "redistribute --shape 8x8 --from 2x2 --to 1x2");
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.err.find("a grid of 4 processes on 2 ranks"), std::string::npos) << refused.err;
}

// The model's time, beside the measured one: in the table, and as `simulate` has it for one node.
TEST(redistribute, shows_the_predicted_time_of_arrays) {
  const std::string what = " --shape 512x512 --from 4x1 --to 1x4 -m 1M";
  const auto shown = taquin(4, "redistribute --reps 1" + what);
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_TRUE(
      std::regex_search(shown.out, std::regex("wrong +predicted\\nnative .* -\\nlayouts .* 0 +[0-9.]+ [^ ]+\\n")))
      << shown.out;
  const auto blocks = taquin(2, "redistribute -a slots --blocks 4 --block-bytes 8 --reps 1");
  EXPECT_EQ(blocks.out.find("predicted"), std::string::npos) << "of blocks nothing is predicted";
  const double small = taquin(4, "redistribute --reps 1 --json -" + what).json()[1]["predicted_s"];
  const double large =
      taquin(4, "redistribute --reps 1 --json - --shape 1024x1024 --from 4x1 --to 1x4 -m 1M").json()[1]["predicted_s"];
  EXPECT_GT(large, 2 * small);
}

// Grids that are numbered in different orders: other ranks for the target, and fewer bytes move.
TEST(redistribute, other_ranks_for_the_target_save_the_bytes_that_explain_names) {
  const std::string what = " --shape 12x24 --element 8 --from 2x2 --to 2x2:f";
  const auto explained = taquin(0, "explain -n 4 --json -" + what);
  ASSERT_EQ(explained.status, 0) << explained.err;
  const auto row = explained.json()[0];
  EXPECT_EQ(row["bytes"], 12 * 24 * 8);
  EXPECT_EQ(row["bytes_moved"], 12 * 24 * 8 / 2);
  EXPECT_EQ(row["bytes_moved_relabelled"], 0);
  EXPECT_EQ(row["ranks_relabelled"], nlohmann::json({0, 2, 1, 3}));
  EXPECT_NE(taquin(0, "explain -n 4" + what).out.find("saved                        1.12 KiB"), std::string::npos);
  for (const bool relabel : {false, true}) {
    const auto r = taquin(4, "redistribute --reps 1 --json -" + what + (relabel ? " --relabel" : ""));
    ASSERT_EQ(r.status, 0) << r.err;
    for (const auto& one : r.json()) {
      EXPECT_EQ(one["bytes_moved"], relabel ? 0 : 12 * 24 * 8 / 2);
      EXPECT_EQ(one["bytes_saved"], 12 * 24 * 8 / 2);
      EXPECT_EQ(one["wrong_bytes"], 0);
    }
    EXPECT_EQ(r.json()[1]["messages"], relabel ? 0 : 1) << "each rank keeps its part, or two swap theirs";
  }
  const auto shown = taquin(4, "redistribute --reps 1" + what);
  EXPECT_NE(shown.out.find("(--relabel) would save 1.12 KiB"), std::string::npos) << shown.out;
  EXPECT_TRUE(taquin(0, "explain -n 3" + what).said("a grid of 4 processes on 3 ranks"));
  EXPECT_TRUE(taquin(0, "explain -n 4 --per-pair" + what).said("no meaning"));
}

TEST(redistribute, counts_the_free_blocks_that_there_are) {
  for (const auto& [workload, free] : {std::pair("one_cycle", 0), {"one_empty", 10}}) {
    const std::string what = std::string("-w ") + workload;
    const auto r = taquin(3, "redistribute -a slots --blocks 30 --block-bytes 8 --reps 1 --json - " + what);
    ASSERT_EQ(r.status, 0) << r.err;
    for (const auto& one : r.json()) EXPECT_EQ(one["free_blocks"], free);
    const auto p = taquin(0, "plan -n 3 -a slots --blocks 30 --json - " + what);
    ASSERT_EQ(p.status, 0) << p.err;
    EXPECT_EQ(p.json()["free_blocks"], free);
    EXPECT_EQ(p.json()["steps"][0][1], 3 * free) << "as in the first step";
  }
}

TEST(redistribute, blocks_lie_in_shared_buffers_if_wanted) {
  for (const char* block : {"100", "4K"}) {
    const auto r =
        taquin(3, std::string("redistribute -a slots,parking -w random --blocks 40 --free 5 --reps 2 --json - "
                              "--shared-buffers --block-bytes ") +
                      block);
    ASSERT_EQ(r.status, 0) << r.err;
    for (const auto& one : r.json()) expect_redistribution(one, 3);
  }
}

TEST(redistribute, records_tell_how_it_goes_over_time) {
  const auto r =
      taquin(2, "redistribute -a slots,parking -w random --blocks 5000 --block-bytes 8 --free 20% --reps 1 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto records = r.json();
  ASSERT_EQ(records.size(), 3U);
  EXPECT_FALSE(records[0].contains("over_time")) << "native";
  for (const std::size_t i : {1U, 2U}) {
    const auto& run = records[i]["over_time"];
    EXPECT_EQ(run["algorithm"], records[i]["algorithm"]);
    EXPECT_EQ(run["blocks"], 1024) << "as many as one process bears";
    EXPECT_NEAR(run["free_blocks"].get<double>(), 204, 1) << "in the same proportion";
    const auto& last = run["steps"].back();
    EXPECT_EQ(last[2], 0) << "blocks held aside";
    EXPECT_EQ(last[3].get<int>(), 2 * (1024 - run["free_blocks"].get<int>())) << "all in place";
    EXPECT_EQ(last[5], 0) << "blocks on a wrong rank";
  }
}

TEST(redistribute, runs_without_mpirun_and_auto_names_the_default) {
  const auto r = taquin(0, "redistribute -a auto -w random --blocks 50 --block-bytes 64 --free 5 --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  expect_redistribution(r.json()[1], 1);
  EXPECT_EQ(r.json()[1]["algorithm"], detail::redistributions().front()->name);
}

TEST(redistribute, a_limit_holds_and_one_too_small_leaves_native_alone) {
  const auto enough = taquin(2, "redistribute -a slots -m 64K --blocks 200 --block-bytes 8 --reps 2 --json -");
  ASSERT_EQ(enough.status, 0) << enough.err;
  EXPECT_EQ(enough.json()[1]["memory_limit"], 65536);
  EXPECT_LE(enough.json()[1]["peak_memory"], 65536);
  const auto little = taquin(2, "redistribute -a slots -m 100 --blocks 200 --block-bytes 8 --reps 2 --json -");
  EXPECT_EQ(little.status, 1);
  EXPECT_TRUE(little.said("100 are allowed")) << little.err;
  ASSERT_EQ(little.json().size(), 2U);
  EXPECT_EQ(little.json()[0]["algorithm"], "native");
  EXPECT_NE(little.json()[1]["reason"].get<std::string>().find("100 are allowed"), std::string::npos);
}

TEST(redistribute, least_progress_makes_a_slow_algorithm_hand_over) {
  const std::string base = "redistribute -a parking -w shift --blocks 400 --block-bytes 8 --free 1 --reps 2 --json - ";
  const auto slow = taquin(3, base);
  const auto quick = taquin(3, base + "--least-progress 0.1");
  ASSERT_EQ(slow.status, 0) << slow.err;
  ASSERT_EQ(quick.status, 0) << quick.err;
  expect_redistribution(quick.json()[1], 3);
  EXPECT_LT(quick.json()[1]["bytes_copied"].get<double>() * 4, slow.json()[1]["bytes_copied"].get<double>());
}

TEST(redistribute, json_goes_to_a_file_and_the_table_to_standard_output) {
  const std::string path = temporary_path("blocks.json");
  const auto r = taquin(2, "redistribute -a slots -b 4K --block-bytes 64 --reps 2 --json " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(path)).size(), 2U);
  EXPECT_EQ(occurrences(r.out, "\nslots "), 1) << r.out;
  std::filesystem::remove(path);
}

TEST(redistribute, wrong_arguments_are_told_once_with_status_2) {
  const std::pair<const char*, const char*> cases[] = {
      {"--frobnicate", "--frobnicate"},
      {"-a bogus", "unknown algorithm 'bogus'; known are all, auto, native, slots"},
      {"-w bogus", "unknown block workload 'bogus'; known are shift, transpose"},
      {"-b 4Q", "bad size '4Q'"},
      {"--block-bytes 0", "a block has at least 1 byte"},
      {"--blocks 0", "--blocks"},
      {"--blocks 10 -b 4K", "excludes"},
      {"--blocks 10 --free 11", "--free 11 of 10 blocks"},
      {"--free 120%", "--free 120%"},
      {"-w one_cycle --blocks 10 --free 3", "--free 3: the workload one_cycle"},
      {"-w one_empty --blocks 10 --free 3", "--free 3: the workload one_empty"},
      {"-m lots", "bad size 'lots'"},
      {"--least-progress 2", "--least-progress"},
      {"--reps 0", "--reps"},
  };
  expect_refused("redistribute", cases);
}

}  // namespace
}  // namespace taquin::cli
