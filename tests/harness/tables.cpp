// Records as rows, and as the OSU micro-benchmarks print them.
#include "harness/tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <regex>
#include <string>

#include "harness/records.hpp"

namespace taquin::harness {
namespace {

nlohmann::json record(const char* requested, int size) {
  return {{"asked", requested},
          {"algorithm", "spread_out"},
          {"workload", "uniform"},
          {"collective", "alltoallv"},
          {"ranks", 4},
          {"per_pair_bytes", size},
          {"repetitions", 50},
          {"exchanges_per_repetition", 20},
          {"ci95_s", {1e-5, 3e-5}},
          {"over_ranks_s", {{"mean", 2e-5}, {"min", 1e-5}, {"max", 3.25e-5}}},
          {"percentiles_s", {{"p50", 2e-5}, {"p90", 4e-5}, {"p99", 5e-5}}},
          {"memory_limit", nullptr},
          {"wrong_bytes", 0}};
}

// The pattern of site tests made for these benchmarks: a line that begins with the size, its first figure, and Pass.
TEST(osu_tables, are_found_by_what_reads_the_original) {
  const std::string text = osu_of({record("auto", 8), record("pairwise", 8), record("auto", 1024)});
  EXPECT_EQ(text.rfind("# OSU MPI All-to-Allv Personalized Exchange Latency Test", 0), 0U) << text;
  const std::regex first("(^|\n)1024\\s+(\\S+)");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, first));
  EXPECT_EQ(found[2], "20.00");
  EXPECT_TRUE(std::regex_search(text, std::regex("(^|\n)1024[^\n]*Pass")));
  EXPECT_TRUE(std::regex_search(text, std::regex("\n8 +20.00 +10.00 +32.50 +1000 +20.00 +40.00 +50.00 +Pass\n")))
      << text;
  for (const char* title : {"# Size ", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations",
                            "P50 Tail Lat(us)", "P90 Tail Lat(us)", "P99 Tail Lat(us)", "Validation"})
    EXPECT_NE(text.find(title), std::string::npos) << title;
}

TEST(osu_tables, have_a_block_for_each_algorithm_and_tell_what_failed) {
  auto wrong = record("auto", 8);
  wrong["wrong_bytes"] = 3;
  auto unserved = record("pairwise", 8);
  unserved["reason"] = "needs --in-place";
  const std::string text = osu_of({wrong, unserved});
  EXPECT_NE(text.find(" Fail\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# 8: needs --in-place\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# Algorithm: pairwise, 4 ranks, workload uniform\n"), std::string::npos) << text;
  EXPECT_EQ(osu_of({}), "");
}

TEST(tables, say_that_wrong_bytes_are_a_defect_to_report) {
  auto good = record("auto", 8);
  good.update({{"median_s", 2e-5},
               {"ratio_to_native", 1.5},
               {"peak_memory", 64},
               {"rounds", 1},
               {"messages", 3},
               {"bytes_sent", 24},
               {"bytes_per_rank", 32},
               {"in_place", false},
               {"persistent", false}});
  auto wrong = good;
  wrong["wrong_bytes"] = 3;
  const auto printed = [](const nlohmann::json& one) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    print_table(file.get(), {one});
    std::rewind(file.get());
    std::string text(4096, ' ');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    return text;
  };
  EXPECT_NE(printed(wrong).find("spread_out: 3 bytes arrived wrong: this is a defect"), std::string::npos)
      << printed(wrong);
  EXPECT_EQ(printed(good).find("arrived wrong"), std::string::npos);
}

TEST(csv_tables, have_one_row_for_each_record_with_as_many_cells_as_there_are_titles) {
  auto quoted = record("auto", 8);
  quoted["workload"] = "a \"b\", c";
  const std::string text = csv_of({record("auto", 8), quoted});
  EXPECT_EQ(text.rfind("asked,algorithm,workload,collective,ranks,", 0), 0U);
  EXPECT_NE(text.find("\r\nauto,spread_out,uniform,alltoallv,4,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"a \"\"b\"\", c\""), std::string::npos) << text;
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  const auto first = text.find("\r\n");
  const auto second = text.find("\r\n", first + 2);
  EXPECT_EQ(commas(text.substr(0, first)), commas(text.substr(first, second - first)));
  EXPECT_EQ(text.substr(text.size() - 2), "\r\n");
}

}  // namespace
}  // namespace taquin::harness
