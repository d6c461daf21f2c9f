// plan --json of algorithms whose ranks do not know their moves in advance: what a run then does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
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
    EXPECT_EQ(j.contains("note"), name == "native") << name;
  }
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
