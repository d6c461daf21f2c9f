// --nodes of plan, simulate and explain: exchanges on nodes of any sizes, without the nodes.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "harness/records.hpp"
#include "program.hpp"
#include "select/profile.hpp"

namespace taquin::cli {
namespace {

TEST(nodes, a_plan_sends_the_messages_of_a_run_on_the_same_nodes) {
  // Rank 0 is alone on its node and ranks 1 to 3 are on another.
  const auto r = taquin(0, "plan --nodes 1,3 -r 1 -a hierarchical_factor --ports 1 --per-pair -b 10");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("2 nodes of 1 and 3 ranks"), std::string::npos) << r.out;
  EXPECT_EQ(occurrences(r.out, "10 bytes  send["), 4) << r.out;  // to ranks 0, 2 and 3, and its own
  setenv("TAQUIN_NODES", "1,3", 1);
  EXPECT_EQ(taquin(0, "plan -n 4 -r 1 -a hierarchical_factor --ports 1 --per-pair -b 10").out, r.out);
  EXPECT_EQ(taquin(0, "plan -r 1 -a hierarchical_factor --ports 1 --per-pair -b 10").out, r.out);
  unsetenv("TAQUIN_NODES");
}

TEST(nodes, a_plan_of_all_ranks_names_the_ranks_of_each_node) {
  const auto uneven = taquin(0, "plan --nodes 1,4,2,8 -a node_aggregated -b 1K --json -").json();
  EXPECT_EQ(uneven["nodes"], nlohmann::json::parse("[1,4,2,8]"));
  EXPECT_EQ(uneven["per_node"], 0);
  EXPECT_EQ(uneven["ranks"], 15);
  const auto even = taquin(0, "plan --nodes 3x4 -a node_aggregated -b 1K --json -").json();
  EXPECT_EQ(even["nodes"], nlohmann::json::parse("[4,4,4]"));
  EXPECT_EQ(even["per_node"], 4);
}

double predicted(const std::string& arguments, const char* column) {
  const auto r = taquin(0, "simulate --json " + arguments);
  EXPECT_EQ(r.status, 0) << r.err;
  return r.json().at(0)[column].get<double>();
}

TEST(nodes, a_simulated_schedule_is_that_of_the_nodes_and_ports) {
  const std::string what = " -a hierarchical_factor --per-pair -b 64K";
  const double one = predicted("--nodes 1,4,2,8 --ports 1" + what, "schedule_s");
  const double eight = predicted("--nodes 1,4,2,8 --ports 8" + what, "schedule_s");
  EXPECT_GT(one, eight);
  EXPECT_DOUBLE_EQ(predicted("--nodes 4x4" + what, "schedule_s"), predicted("-n 16 --per-node 4" + what, "schedule_s"));
}

// The 4 × 16 ranks whose two predictions once were 12 times apart.
TEST(nodes, the_two_predictions_assume_the_same_network) {
  const std::string what = "--nodes 4x16 -a spread_out --per-pair -b 64K";
  const double schedule = predicted(what, "schedule_s");
  const double formula = predicted(what, "formula_s");
  EXPECT_LT(schedule, 1.5 * formula);
  EXPECT_LT(formula, 1.5 * schedule);
}

TEST(nodes, an_explanation_says_on_which_nodes_and_cores) {
  const auto r = taquin(0, "explain --nodes 4x16 --cores 8 --per-pair -b 1K");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.find("uniform, 64 ranks on 4 nodes of 16 ranks, 8 cores each, 64 KiB per rank"), 0U) << r.out;
}

// The same words after the ranks, and for the same words the same time.
TEST(nodes, plan_simulate_and_explain_take_the_same_machine_and_name_it_first) {
  const std::string built_in = temporary_path("model.json");
  detail::profile p;
  p.model.levels[0].plogp.points = p.model.levels[1].plogp.points = {{1024, 1e-6, 1e-6, 3e-6}};
  p.model.levels[1].loggp.latency *= 3;
  detail::write_profile(built_in, p);
  for (const auto& model : {std::string(), " --model " + built_in})
    for (const auto& [machine, words] : std::array<std::pair<const char*, const char*>, 4>{
             {{"--nodes 4x16 --cores 8", "64 ranks on 4 nodes of 16 ranks, 8 cores each"},
              {"--nodes 1,4,2,8 --cores 1", "15 ranks on 4 nodes of 1, 4, 2 and 8 ranks, 1 core each"},
              {"-n 8 --per-node 4 --cores 2", "8 ranks on 2 nodes of 4 ranks, 2 cores each"},
              {"-n 64 --per-node 64 --cores 64", "64 ranks on one node, 64 cores"}}}) {
      const std::string what = machine + model + " -b 64K";
      const auto first = [](const result& r) { return r.out.substr(0, r.out.find('\n')); };
      const auto explained = taquin(0, "explain --persistent " + what);
      const auto simulated = taquin(0, "simulate -a pairwise " + what);
      const auto planned = taquin(0, "plan -a pairwise " + what);
      EXPECT_NE(first(explained).find(words), std::string::npos) << explained.out << explained.err;
      EXPECT_NE(first(simulated).find(words), std::string::npos) << simulated.out << simulated.err;
      const std::string nodes = std::string(words).substr(std::string(words).find(" on ") + 4);
      EXPECT_NE(first(planned).find(nodes), std::string::npos) << planned.out << planned.err;
      const auto time = taquin(0, "simulate --json -a pairwise " + what).json()[0]["formula_s"].get<double>();
      for (const auto& row : taquin(0, "explain --persistent --json " + what).json())
        EXPECT_DOUBLE_EQ(row["algorithm"] == "pairwise" ? row["predicted_s"].get<double>() : time, time) << what;
      EXPECT_EQ(occurrences(planned.out, harness::show_seconds(time) + " predicted"), 1) << planned.out;
    }
  std::filesystem::remove(built_in);
  EXPECT_EQ(taquin(0, "simulate -n 4 -a pairwise").out.find("4 ranks on one node, a core for each rank"), 0U);
}

TEST(nodes, that_do_not_hold_the_ranks_are_refused) {
  const std::array<std::pair<const char*, const char*>, 5> cases{
      {{"-n 8 --nodes 1,4,2 -a pairwise", "--nodes 1,4,2: 7 ranks on nodes, 8 ranks in the exchange"},
       {"--nodes 1,four -a pairwise", "not '1,four'"},
       {"--nodes 2,0 -a pairwise", "a node of 0 ranks"},
       {"-a pairwise", "Give -n or --nodes"},
       {"--nodes 2,2 --per-node 2 -a pairwise", "excludes"}}};
  expect_refused("plan", cases);
  expect_refused("simulate", cases);
}

TEST(explain, has_as_many_ranks_as_the_largest_machines) {
  const auto r = taquin(0, "explain --per-node 100 -n 100000 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_GT(r.json().size(), 3U);
  for (const auto& row : r.json()) EXPECT_EQ(row["ranks"], 100000);
  EXPECT_TRUE(taquin(0, "explain -n 100001").said("100001 ranks: more than 100000"));
}

}  // namespace
}  // namespace taquin::cli
