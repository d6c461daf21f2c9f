// taquin explain --traffic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "workloads/traffic.hpp"

namespace taquin::cli {
namespace {

using workloads::byte_matrix;
using workloads::call_form;
using workloads::call_kind;

byte_matrix equal_blocks(int ranks, count_t bytes) {
  std::vector<byte_matrix::flow> all;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) all.push_back({from, to, bytes});
  return {ranks, all};
}

// Six ranks, and four of them; equal blocks of three sizes, by blocking calls and by plans.
workloads::traffic recording() {
  workloads::traffic t;
  t.program = "example";
  t.ranks = 6;
  t.communicators = {{0, 1, 2, 3, 4, 5}, {5, 3, 2, 0}};
  t.matrices = {equal_blocks(6, 8), equal_blocks(6, 100000), equal_blocks(4, 3000)};
  t.calls.push_back({.communicator = 0, .matrix = 0, .kind = call_kind::alltoall, .repeats = 7});
  t.calls.push_back({.communicator = 0, .matrix = 1, .kind = call_kind::alltoallv, .form = call_form::nonblocking});
  t.calls.push_back({.communicator = 1, .matrix = 2, .kind = call_kind::alltoallw, .form = call_form::persistent});
  t.calls.push_back({.communicator = 1, .matrix = 2, .kind = call_kind::alltoallw, .repeats = 2});
  t.calls.push_back({.communicator = 0, .matrix = 0, .kind = call_kind::alltoall, .repeats = 4});
  return t;
}

class explain_traffic : public testing::Test {
 protected:
  void SetUp() override { write_traffic(recording(), path); }
  void TearDown() override { std::filesystem::remove(path); }
  [[nodiscard]] nlohmann::json rows(const std::string& more = "") const {
    const auto r = taquin(0, fmt::format("explain --json --traffic {} {}", path, more));
    EXPECT_EQ(r.status, 0) << r.err;
    return r.json();
  }
  std::string path = temporary_path("explained.json");
};

// Each kind of call has the choice and the times of the same exchange without a recording.
TEST_F(explain_traffic, says_of_each_kind_of_call_what_explain_says_of_the_exchange) {
  const auto all = rows("--cores 4 -m 64K");
  ASSERT_EQ(all.size(), 4U) << all;
  std::uint64_t calls = 0;
  for (const auto& one : all) {
    calls += one["calls"].get<std::uint64_t>();
    const auto same =
        taquin(0, fmt::format("explain --json --cores 4 -m 64K -n {} --per-pair -b {} --collective {} {}",
                              one["ranks"].get<int>(), one["max_block_bytes"].get<std::uint64_t>(),
                              one["kind"].get<std::string>(), one["reused"].get<bool>() ? "--persistent" : ""));
    ASSERT_EQ(same.status, 0) << same.err;
    for (const auto& row : same.json()) {
      const auto name = row["algorithm"].get<std::string>();
      EXPECT_EQ(row["chosen"], one["chosen"] == name) << one << row;
      const auto expected = row["fits"] ? row["predicted_s"] : nlohmann::json();
      EXPECT_EQ(expected, one["candidates"].value(name, nlohmann::json())) << one << row;
    }
  }
  EXPECT_EQ(calls, 15U);
}

TEST_F(explain_traffic, calls_that_were_not_blocking_are_plans) {
  int plans = 0;
  for (const auto& one : rows()) plans += one["reused"].get<bool>() ? 1 : 0;
  EXPECT_EQ(plans, 2);
  for (const auto& one : rows("--persistent")) EXPECT_EQ(one["reused"], true) << one;
}

TEST_F(explain_traffic, names_the_machine_and_has_a_line_for_each_kind_of_call) {
  const auto r = taquin(0, "explain --cores 3 --traffic " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.find(path + ", 6 ranks on one node, 3 cores\n"), 0U) << r.out;
  EXPECT_EQ(occurrences(r.out, "\n"), 2 + 4) << r.out;
  EXPECT_EQ(occurrences(r.out, " plan "), 2) << r.out;
  EXPECT_TRUE(r.out.find("      11 alltoall   blocking      6        8 B       48 B") != std::string::npos) << r.out;
}

TEST_F(explain_traffic, takes_the_rules_of_a_profile) {
  const std::string profile = temporary_path("rules.json");
  std::ofstream(profile) << R"({"rules": [{"algorithm": "bruck_v", "collective": "alltoallw", "reused": false}]})";
  setenv("TAQUIN_PROFILE", profile.c_str(), 1);
  const auto ruled = rows();
  unsetenv("TAQUIN_PROFILE");
  std::filesystem::remove(profile);
  int by_rule = 0;
  for (const auto& one : ruled)
    if (one["kind"] == "alltoallw" && one["reused"] == false) by_rule += one["chosen"] == "bruck_v" ? 1 : 0;
  EXPECT_EQ(by_rule, 1) << ruled;
}

TEST_F(explain_traffic, what_does_not_go_with_a_recording_is_refused) {
  for (const char* more : {"--nodes 2,4", "--per-node 2", "--measure"}) {
    const auto r = taquin(0, fmt::format("explain --traffic {} {}", path, more));
    EXPECT_EQ(r.status, 2) << more;
    EXPECT_EQ(occurrences(r.err, "no meaning with --traffic"), 1) << r.err;
  }
}

}  // namespace
}  // namespace taquin::cli
