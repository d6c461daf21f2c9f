// taquin simulate --collective sparse from outside.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "harness/sparse_ways.hpp"
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
  for (const auto& w : harness::sparse_ways()) EXPECT_GT(times[std::string(w.name)], 0) << w.name;
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
       {"-w ring -b 1K -n 4 --per-node 2 -a node_step", "none of these algorithms serves"}}};
  expect_refused("simulate --collective sparse", cases);
}

}  // namespace
}  // namespace taquin::cli
