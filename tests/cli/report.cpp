// taquin report and plan --json, from outside.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "program.hpp"

namespace taquin::cli {
namespace {

bool has_page() {
  return std::filesystem::exists(std::filesystem::path(TAQUIN_PROGRAM).parent_path().parent_path() /
                                 "share/taquin/report.html");
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class report : public testing::Test {
 protected:
  void TearDown() override {
    for (const auto& path : {page, input}) std::remove(path.c_str());
  }
  std::string page = temporary_path("page.html");
  std::string input = temporary_path("input.json");
};

TEST_F(report, says_so_where_the_build_has_no_page) {
  if (has_page()) GTEST_SKIP() << "this build has a page";
  const auto r = taquin(0, "report " + input + " -o " + page);
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.said("no report page")) << r.err;
  EXPECT_FALSE(std::filesystem::exists(page));
}

TEST_F(report, shows_what_plan_writes_of_every_kind) {
  if (!has_page()) GTEST_SKIP() << "this build has no page";
  for (const std::string what :
       {"-n 8 -a pairwise --per-node 4", "-n 8 -a hierarchical_factor --per-node 4",
        "-n 9 -a zero_copy_bruck --collective alltoall", "-n 1 -a spread_out", "-n 5 -a in_place -w random -m 10%",
        "-n 1 -a in_place", "-n 5 -a in_place_phases -w random", "-n 4 -a native", "-n 4 -a shared_memory",
        "-n 6 -a multilevel --per-node 4 -w zipf", "-n 4 -a slots -w random --blocks 32 --free 3",
        "-n 3 -a cyclic --blocks 7"}) {
    const auto planned = taquin(0, "plan --json " + input + " " + what);
    ASSERT_EQ(planned.status, 0) << what << planned.err;
    const auto r = taquin(0, "report " + input + " -o " + page);
    EXPECT_EQ(r.status, 0) << what << r.err;
    EXPECT_NE(read(page).find("\"taquin_plan\":1"), std::string::npos) << what;
  }
}

TEST_F(report, shows_the_rest_where_a_file_is_wrong) {
  if (!has_page()) GTEST_SKIP() << "this build has no page";
  ASSERT_EQ(taquin(0, "plan -n 2 -a pairwise --json " + input).status, 0);
  const auto r = taquin(0, "report /nowhere.json " + input + " -o " + page);
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.err, "\n"), 1) << r.err;
  EXPECT_TRUE(r.said("/nowhere.json: cannot be read")) << r.err;
  EXPECT_NE(read(page).find("\"algorithm\":\"pairwise\""), std::string::npos);
}

TEST_F(report, writes_no_page_of_nothing_and_never_over_an_input) {
  if (!has_page()) GTEST_SKIP() << "this build has no page";
  EXPECT_EQ(taquin(0, "report /nowhere.json -o " + page).status, 1);
  EXPECT_FALSE(std::filesystem::exists(page));
  ASSERT_EQ(taquin(0, "plan -n 2 -a pairwise --json " + input).status, 0);
  const auto before = read(input);
  const auto r = taquin(0, "report " + input + " -o " + input);
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.said("is both an input and the output")) << r.err;
  EXPECT_EQ(read(input), before);
}

TEST_F(report, refuses_a_page_that_cannot_be_written) {
  if (!has_page()) GTEST_SKIP() << "this build has no page";
  ASSERT_EQ(taquin(0, "plan -n 2 -a pairwise --json " + input).status, 0);
  const auto r = taquin(0, "report " + input + " -o /nowhere/page.html");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.said("cannot write /nowhere/page.html")) << r.err;
}

// Bruck's first round of 4 ranks in base 2: every rank sends two blocks to a neighbour, one of them for another rank.
TEST(plan_json, tells_the_messages_of_all_ranks_and_what_they_carry) {
  const auto r = taquin(0, "plan -n 4 -a zero_copy_bruck --radix 2 --collective alltoall --per-pair -b 3 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = r.json();
  ASSERT_EQ(j["rounds"].size(), 2U);
  ASSERT_EQ(j["rounds"][0]["messages"].size(), 4U);
  for (const auto& m : j["rounds"][0]["messages"]) {
    EXPECT_EQ(m[2], 6);
    EXPECT_EQ(m[3].size(), 2U);
  }
}

TEST(plan_json, scratch_holds_what_a_later_round_reads) {
  const auto r = taquin(0, "plan -n 8 -a basic_bruck --collective alltoall --per-pair -b 4 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = r.json();
  const auto& rounds = j["rounds"];
  EXPECT_GT(rounds[0]["scratch"].size(), 0U);
  EXPECT_EQ(rounds.back()["scratch"].size(), 0U);
  for (const auto& round : rounds)
    for (const auto& s : round["scratch"]) EXPECT_LE(s[1], j["scratch_bytes"]);
}

// Four ports of a node of four ranks exchange with seven other ranks: not all concurrently.
TEST(plan_json, tells_the_stages_of_lanes_one_by_one) {
  const auto r = taquin(0, "plan -n 8 -a hierarchical_factor --per-node 4 -b 1K --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = r.json();
  EXPECT_GE(j["rounds"].size(), 2U);
  int blocks = 0;
  for (const auto& round : j["rounds"])
    for (const auto& m : round["messages"]) blocks += m[2] == 128 ? 1 : 0;
  EXPECT_EQ(blocks, 8 * 7);
}

TEST(plan_json, refuses_what_a_page_cannot_draw) {
  const std::pair<const char*, const char*> cases[] = {
      {"-n 4 -a auto", "auto is a choice"},
      {"-n 1000 -a two_phase", "messages: fewer ranks"},
      {"-n 1000 -a pairwise", "messages: fewer ranks"},
      {"-n 100 -a in_place", "at most 64 ranks"},
      {"-n 64 -a slots --blocks 1000", "at most 64 ranks and 4096 blocks"},
      {"-n 4 -a slots --blocks 4 --free 5", "--free 5 of 4 blocks"}};
  for (const auto& [arguments, what] : cases) {
    const auto r = taquin(0, std::string("plan --json - ") + arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_TRUE(r.said(what)) << r.err;
  }
}

}  // namespace
}  // namespace taquin::cli
