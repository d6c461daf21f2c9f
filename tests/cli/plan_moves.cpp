// plan --json of algorithms whose ranks do not know their moves in advance: what a run then does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "program.hpp"

namespace taquin::cli {
namespace {

using nlohmann::json;

// Messages and bytes of the rank that sends most of each.
struct most_sent {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool operator==(const most_sent&) const = default;
};

most_sent of_plan(const json& plan) {
  std::vector<most_sent> ranks(plan["ranks"].get<std::size_t>());
  for (const auto& round : plan["rounds"])
    for (const auto& m : round["messages"]) {
      most_sent& r = ranks[m[0].get<std::size_t>()];
      ++r.messages;
      r.bytes += m[2].get<std::uint64_t>();
    }
  most_sent most;
  for (const auto& r : ranks) most = {std::max(most.messages, r.messages), std::max(most.bytes, r.bytes)};
  return most;
}

TEST(plan_json, draws_every_algorithm_of_the_list) {
  for (const auto* a : detail::algorithms()) {
    const std::string name(a->name);
    const auto r = taquin(0, "plan -n 6 -a " + name + " --json -");
    ASSERT_EQ(r.status, 0) << name << r.err;
    const auto j = r.json();
    const bool drawn = j.contains("strip") ? !j["strip"]["events"].empty() : of_plan(j).messages > 0;
    EXPECT_EQ(drawn, name != "native") << name;
    EXPECT_TRUE(name != "native" || j.contains("note"));
    const bool planned = name == "bruck_v" || name == "zero_copy_bruck_v" || name == "multilevel";
    EXPECT_EQ(j.value("drawn_as", ""), planned ? "reused plan" : "") << name;
  }
}

// Blocks by the node that holds them, round by round: a rank sends what its node began with or was sent before.
TEST(plan_json, a_rank_carries_on_what_has_come_to_its_node) {
  constexpr int ranks = 6;
  for (const auto* a : detail::algorithms()) {
    const std::string name(a->name);
    for (const std::string workload : {"uniform", "zipf", "sparse:2"}) {
      const auto r = taquin(
          0, "plan -n 6 -b 600 -w " + workload + " -a " + name + " --json - " + (a->needs_nodes ? "--per-node 2" : ""));
      if (workload != "uniform" && r.said("does not serve")) continue;
      ASSERT_EQ(r.status, 0) << name << r.err;
      const auto j = r.json();
      if (!j.contains("rounds") || j["rounds"].empty()) continue;
      const int per_node = std::max(j["per_node"].get<int>(), 1);
      std::vector<std::set<std::pair<int, int>>> held(ranks);  // by node
      for (int from = 0; from < ranks; ++from)
        for (int to = 0; to < ranks; ++to) held[from / per_node].emplace(from, to);
      std::set<std::pair<int, int>> arrived;
      for (const auto& round : j["rounds"]) {
        const auto before = held;
        for (const auto& m : round["messages"]) {
          ASSERT_EQ(m.size(), 4U) << name;
          for (const auto& each : m[3]) {
            const std::pair<int, int> block{each[0], each[1]};
            EXPECT_TRUE(before[m[0].get<int>() / per_node].contains(block))
                << name << ' ' << workload << ' ' << m.dump();
            held[m[1].get<int>() / per_node].insert(block);
            if (m[1] == each[1]) arrived.insert(block);
          }
        }
      }
      const auto direct = taquin(0, "plan -n 6 -b 600 -a spread_out -w " + workload + " --json -").json();
      for (const auto& m : direct["rounds"][0]["messages"]) {
        const std::pair<int, int> block{m[0], m[1]};
        const bool there = per_node > 1 ? held[block.second / per_node].contains(block) : arrived.contains(block);
        EXPECT_TRUE(there) << name << ' ' << workload << ' ' << m.dump();
      }
    }
  }
}

// In round k every rank sends k places on, also where some ranks have nothing for each other.
TEST(plan_json, ranks_whose_round_is_empty_wait_for_the_next) {
  const auto r = taquin(0, "plan -n 6 -a pairwise -w sparse:2 -b 1K --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto j = r.json();
  std::set<int> earlier;
  bool some_wait = false;
  for (const auto& round : j["rounds"]) {
    std::set<int> ways;
    for (const auto& m : round["messages"]) ways.insert((m[1].get<int>() - m[0].get<int>() + 6) % 6);
    EXPECT_EQ(ways.size(), 1U) << round.dump();
    for (const int way : ways) EXPECT_TRUE(earlier.insert(way).second) << way;
    some_wait = some_wait || round["messages"].size() < 6;
  }
  EXPECT_TRUE(some_wait);
}

TEST(plan_json, tells_no_payload_of_more_than_64_ranks) {
  const auto j = taquin(0, "plan -n 65 -a spread_out -b 6500 --json -").json();
  EXPECT_EQ(j["rounds"][0]["messages"][0].size(), 3U);
}

TEST(plan_json, tells_as_many_messages_and_bytes_as_a_run_sends) {
  setenv("TAQUIN_NODES", "2,2", 1);
  for (const std::string workload : {"uniform", "zipf"}) {
    const auto ran = taquin(4, "run --persistent --reps 1 --batch 1 -b 4K -w " + workload +
                                   " -a bruck_v,two_phase,node_aggregated,multilevel --json -");
    ASSERT_EQ(ran.status, 0) << ran.err;
    int compared = 0;
    for (const auto& record : ran.json()) {
      const auto name = record["algorithm"].get<std::string>();
      if (name == "native") continue;
      const auto planned = taquin(0, "plan -n 4 --per-node 2 -b 4K -w " + workload + " -a " + name + " --json -");
      ASSERT_EQ(planned.status, 0) << planned.err;
      const most_sent run{record["messages"].get<std::uint64_t>(), record["bytes_sent"].get<std::uint64_t>()};
      EXPECT_EQ(of_plan(planned.json()), run) << name << ' ' << workload;
      ++compared;
    }
    EXPECT_EQ(compared, 4);
  }
  unsetenv("TAQUIN_NODES");
}

TEST(plan_json, shared_memory_is_drawn_on_one_node_and_says_that_it_sends_nothing) {
  const auto j = taquin(0, "plan -n 4 -a shared_memory -b 4K --json -").json();
  EXPECT_EQ(j["through_memory"], true);
  EXPECT_EQ(j["per_node"], 4);
  const auto r = taquin(0, "plan -n 4 -a shared_memory --per-node 2 --json -");
  EXPECT_EQ(r.status, 2);
  EXPECT_TRUE(r.said("does not serve")) << r.err;
}

}  // namespace
}  // namespace taquin::cli
