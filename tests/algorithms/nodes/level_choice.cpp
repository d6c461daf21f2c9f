// The algorithms of a multilevel exchange's levels, if taquin chooses them: no named one is predicted to be
// faster.
#include "algorithms/nodes/level_choice.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace taquin::detail {
namespace {

struct machine {
  std::vector<int> nodes;
  int groups_inside;  // of each node; 0: none are known
};

shape equal_blocks(const machine& on, std::uint64_t block) {
  topology t;
  std::vector<int> node;
  std::vector<int> inside;
  for (std::size_t k = 0; k < on.nodes.size(); ++k)
    for (int i = 0; i < on.nodes[k]; ++i) {
      node.push_back(static_cast<int>(k));
      inside.push_back(on.groups_inside > 0 ? i * on.groups_inside / on.nodes[k] : 0);
    }
  t.levels.push_back(level::of("node", node));
  if (on.groups_inside > 0) t.refine("package", inside);
  const auto p = static_cast<std::uint64_t>(node.size());
  shape s{.ranks = static_cast<int>(p),
          .kind = exchange::form::alltoall,
          .uniform = true,
          .max_block_bytes = block,
          .min_block_bytes = block,
          .max_rank_bytes = block * p,
          .max_received_bytes = block * p};
  describe(t, s);
  return s;
}

const std::vector<machine> machines{{{16, 16, 16, 16}, 0},
                                    {{1, 4, 2, 8}, 0},
                                    {{64, 64, 64, 64, 64, 64, 64, 64}, 4},
                                    {{8}, 0},
                                    {{8}, 2},
                                    {{1, 1, 1, 1, 1}, 0},
                                    {{4, 4, 2}, 2},
                                    {{100, 100, 100}, 0}};

// Every list of two or three levels, with and without a base.
std::vector<std::string> all_lists() {
  std::vector<std::string> one;
  for (const algorithm* a : algorithms())
    if (a->serves_inside && a->supports({.ranks = 2, .kind = exchange::form::alltoallv, .uniform = false}))
      for (const char* base : {"", ":2", ":4", ":8"}) one.push_back(std::string(a->name) + base);
  std::vector<std::string> lists;
  for (const auto& outer : one)
    for (const auto& inner : one) lists.push_back(outer + "," + inner);
  return lists;
}

TEST(level_choice, takes_no_more_time_than_any_that_could_be_named) {
  const machine_model m = machine_model::built_in();
  for (const machine& on : machines)
    for (const std::uint64_t block : {1, 64, 1000, 20000, 1000000}) {
      const shape s = equal_blocks(on, block);
      const level_names chosen = choose_levels(s, {.multilevel = {.levels = "auto"}}, m);
      EXPECT_FALSE(any_automatic(chosen.view()));
      const seconds time = multilevel.cost(s, {.multilevel = {.levels = chosen.view()}}, m);
      EXPECT_EQ(time, multilevel.cost(s, {.multilevel = {.levels = "auto"}}, m));
      for (const auto& list : all_lists())
        EXPECT_LE(time, multilevel.cost(s, {.multilevel = {.levels = list}}, m) * 1.000001)
            << list << " against " << chosen.view() << ", " << s.ranks << " ranks, " << block << " bytes";
    }
}

TEST(level_choice, leaves_what_is_named) {
  const machine_model m = machine_model::built_in();
  for (const machine& on : machines) {
    const shape s = equal_blocks(on, 100);
    if (s.nodes == 1) continue;  // the first name is not used
    const level_names chosen = choose_levels(s, {.multilevel = {.levels = "bruck_v:5,auto"}}, m);
    EXPECT_EQ(chosen.view().substr(0, 9), "bruck_v:5") << chosen.view();
  }
}

TEST(level_choice, goes_by_size) {
  const machine_model m = machine_model::built_in();
  const machine many{{std::vector<int>(64, 16)}, 0};
  const auto small = choose_levels(equal_blocks(many, 8), {.multilevel = {.levels = "auto"}}, m);
  const auto large = choose_levels(equal_blocks(many, 1 << 20), {.multilevel = {.levels = "auto"}}, m);
  EXPECT_EQ(small.view().substr(0, 7), "bruck_v") << small.view();
  EXPECT_NE(large.view().substr(0, 7), "bruck_v") << large.view();
}

TEST(level_choice, cuts_a_list_that_is_too_long) {
  level_names names;
  for (int i = 0; i < 100; ++i) names.add("spread_out", 16);
  EXPECT_LT(names.view().size(), names.text().size());
  EXPECT_EQ(names.view().substr(names.view().size() - 13), "spread_out:16");
}

}  // namespace
}  // namespace taquin::detail
