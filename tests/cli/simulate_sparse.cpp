// taquin simulate --collective sparse from outside.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "harness/sparse_methods.hpp"
#include "program.hpp"

namespace taquin::cli {
namespace {

// Seconds by algorithm.
std::map<std::string, double> predicted(const std::string& arguments) {
  const auto r = taquin(0, "simulate --collective sparse --json " + arguments);
  EXPECT_EQ(r.status, 0) << r.err;
  std::map<std::string, double> times;
  for (const auto& one : r.json()) {
    EXPECT_EQ(one["collective"], "sparse");
    EXPECT_TRUE(one["formula_s"].is_null()) << one;
    times[one["algorithm"].get<std::string>()] = one["schedule_s"].get<double>();
  }
  return times;
}

TEST(simulate_sparse, every_algorithm_and_every_way_by_hand_has_a_time_where_it_serves) {
  auto times = predicted("-n 16 --per-node 4 -w sparse:4 --per-pair -b 1K");
  times.merge(predicted("-n 16 -w sparse:4 --per-pair -b 1K"));  // all on one node
  for (const auto* a : detail::sparse_algorithms()) EXPECT_GT(times[std::string(a->name)], 0) << a->name;
  for (const auto& w : harness::sparse_methods()) EXPECT_GT(times[std::string(w.name)], 0) << w.name;
}

TEST(simulate_sparse, only_those_that_are_named_are_predicted) {
  const auto times = predicted("-n 8 -w ring --per-pair -b 64 -a nbx,notify_tree");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_TRUE(times.contains("nbx") && times.contains("notify_tree"));
}

TEST(simulate_sparse, bytes_per_rank_are_those_of_the_rank_that_sends_most) {
  const auto r = taquin(0, "simulate --collective sparse --json -n 4..8 -w sparse:2 --per-pair -b 100 -a nbx");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 2U);
  EXPECT_EQ(r.json()[1]["ranks"], 8);
  for (const auto& one : r.json()) EXPECT_EQ(one["bytes_per_rank"], 200) << one;
}

TEST(simulate_sparse, ranks_that_share_processors_wait_longer_for_each_other) {
  const std::string what = "-n 8 -w sparse:3 --per-pair -b 1K -a node_step,nbx";
  auto alone = predicted(what);
  auto shared = predicted(what + " --cores 2");
  for (const char* name : {"node_step", "nbx"}) EXPECT_GT(shared[name], alone[name]) << name;
}

TEST(simulate_sparse, what_has_too_many_messages_is_listed_without_a_time) {
  const auto r = taquin(0, "simulate --collective sparse -n 3000 -w ring --per-pair -b 8 -a counts_exchanged --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 1U);
  EXPECT_TRUE(r.json()[0]["schedule_s"].is_null());
}

TEST(simulate_sparse, wrong_arguments_are_told_once_with_status_2) {
  const std::array<std::pair<const char*, const char*>, 5> cases{
      {{"-w ring -b 1K -n 4 -a auto", "name an algorithm"},
       {"-w ring -b 1K -n 4 -a pairwise", "unknown sparse algorithm 'pairwise'"},
       {"-w ring -b 1K -n 4 --formula", "no closed formula"},
       {"-w ring -b 1K -n 5000 -a notify_tree", "at most 4096 ranks"},
       {"-w ring -b 1K --nodes 2,2 -a node_step", "none of these algorithms serves"}}};
  expect_refused("simulate --collective sparse", cases);
}

// Rows of `explain` by algorithm.
std::map<std::string, nlohmann::json> explained(const std::string& arguments) {
  const auto r = taquin(0, "explain --collective sparse --json " + arguments);
  EXPECT_EQ(r.status, 0) << r.err;
  std::map<std::string, nlohmann::json> rows;
  int chosen = 0;
  for (const auto& one : r.json()) {
    chosen += one["chosen"].get<bool>() ? 1 : 0;
    rows[one["algorithm"].get<std::string>()] = one;
  }
  EXPECT_EQ(chosen, 1) << arguments;
  return rows;
}

TEST(explain_sparse, says_what_auto_takes_on_a_node_between_nodes_and_by_messages) {
  const std::array<std::pair<const char*, const char*>, 3> cases{{{"-n 16", "node_step"},
                                                                  {"-n 16 --per-node 4", "piggybacked_headers"},
                                                                  {"-n 32 --per-node 1", "piggybacked_headers"}}};
  for (const auto& [where, expected] : cases) {
    for (const auto& [name, row] : explained(std::string(where) + " -w sparse:4 --per-pair -b 1K")) {
      if (!row["chosen"].get<bool>()) continue;
      EXPECT_EQ(name.substr(0, std::string_view(expected).size()), expected) << where;
      EXPECT_EQ(row["why"].get<std::string>().substr(0, 6), "chosen") << row;
    }
  }
}

TEST(explain_sparse, has_the_predictions_of_simulate_and_the_ways_by_hand) {
  const std::string what = "-n 8 --per-node 4 -w sparse:2 --per-pair -b 64";
  auto rows = explained(what);
  const auto cores = std::to_string(std::thread::hardware_concurrency());
  for (const auto& [name, time] : predicted(what + " --cores " + cores))
    EXPECT_DOUBLE_EQ(rows[name]["predicted_s"].get<double>(), time);
  for (const auto& w : harness::sparse_methods())
    EXPECT_TRUE(rows[std::string(w.name)]["by_hand"].get<bool>()) << w.name;
}

TEST(explain_sparse, says_why_an_algorithm_does_not_serve) {
  auto rows = explained("-n 64 --per-node 1 -w sparse:4 --per-pair -b 1K");
  EXPECT_FALSE(rows["node_step"]["supported"].get<bool>());
  EXPECT_EQ(rows["node_step"]["why"], "it needs all ranks on one node");
  EXPECT_TRUE(rows["piggybacked_headers"]["chosen"].get<bool>());
  rows = explained("-n 1100 --per-node 1 -w ring --per-pair -b 8");
  EXPECT_FALSE(rows["piggybacked_headers"]["supported"].get<bool>());
  EXPECT_TRUE(rows["notify_tree"]["chosen"].get<bool>());
}

TEST(explain_sparse, wrong_arguments_are_told_once_with_status_2) {
  const std::array<std::pair<const char*, const char*>, 3> cases{
      {{"--collective sparse -n 4 --measure", "'taquin run --collective sparse' measures them"},
       {"--collective sparse -n 4 --in-place", "no meaning with a sparse exchange"},
       {"--collective sparse --nodes 1,4,2", "nodes of equally many ranks"}}};
  expect_refused("explain", cases);
}

}  // namespace
}  // namespace taquin::cli
