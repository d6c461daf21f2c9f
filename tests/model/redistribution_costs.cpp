// The predicted times of redistributions: the closed formula of each algorithm against a run of all ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "redistribute/cost.hpp"
#include "redistribute/phases.hpp"
#include "redistribute/problems.hpp"
#include "simulation/redistribution_time.hpp"

namespace taquin::detail {
namespace {

whole_map of(const test::block_problem& all, count_t block_bytes) {
  whole_map map{.of = {}, .block_bytes = block_bytes};
  for (const auto& mine : all) map.of.push_back({mine.ranks, mine.indices});
  return map;
}

struct named {
  std::string name;
  whole_map map;
};

// The paper's experiments, and a transpose without free space.
std::vector<named> problems(int p, count_t block_bytes) {
  constexpr int blocks = 64;
  return {{"full shift", of(test::shift_problem(p, blocks, blocks), block_bytes)},
          {"shift with a fifth free", of(test::shift_problem(p, blocks, blocks * 4 / 5), block_bytes)},
          {"transpose with a fifth free", of(test::transpose_problem(p, blocks, blocks * 4 / 5), block_bytes)},
          {"full transpose", of(test::transpose_problem(p, blocks, blocks), block_bytes)}};
}

TEST(redistribution_costs, closed_formulas_are_close_to_a_run_of_all_ranks) {
  const machine_model m = machine_model::built_in();
  for (const auto* a : redistributions())
    for (const int p : {2, 4, 8})
      for (const count_t bytes : {64, 4096, 65536})
        for (const auto& [name, map] : problems(p, bytes)) {
          const auto choice = choose_buffers(problem_of(*a, map), unlimited);
          ASSERT_TRUE(choice);
          const auto run = simulate_redistribution(*a, map);
          ASSERT_TRUE(run);
          const seconds ran = run->time(m);
          const seconds closed = a->cost(load_of(map, *choice), m);
          const auto what = fmt::format("{}, {}, {} ranks, {} bytes: {:.1f} run, {:.1f} predicted, {:.2f}", a->name,
                                        name, p, bytes, 1e6 * ran, 1e6 * closed, closed / ran);
          EXPECT_GT(closed, ran / 2.5) << what;
          EXPECT_LT(closed, ran * 2.5) << what;
        }
}

// Blocks of one peer arrive in order.
TEST(redistribution_costs, phases_copy_blocks_again_where_they_come_from_several_ranks) {
  const machine_model m = machine_model::built_in();
  redistribution_load l{
      .ranks = 4, .blocks = 64, .leaving = 16, .free = 1, .peers = 1, .block_bytes = 4096, .buffers = {}};
  const seconds of_one = phases_cost(l, m, false);
  l.peers = 2;
  EXPECT_NEAR(phases_cost(l, m, false) - of_one, redistribution_terms(l, m).copies(l.blocks), 1e-12);
}

// No rank knows the whole map, so that auto is one algorithm for all of them.
TEST(redistribution_costs, auto_is_the_fastest_in_a_run_of_all_ranks) {
  const machine_model m = machine_model::built_in();
  const auto& chosen = *find_redistribution("auto");
  for (const int p : {2, 4, 8})
    for (const count_t bytes : {64, 4096, 65536}) {
      const whole_map map = of(test::transpose_problem(p, 64, 64), bytes);
      const auto time = [&](const redistribution_algorithm& a) { return simulate_redistribution(a, map)->time(m); };
      seconds least = time(chosen);
      for (const auto* a : redistributions()) least = std::min(least, time(*a));
      EXPECT_LE(time(chosen), 1.1 * least) << p << " ranks, " << bytes << " bytes";
    }
}

TEST(redistribution_costs, auto_has_the_least_formula_where_ranks_have_a_few_blocks) {
  const machine_model m = machine_model::built_in();
  for (const int p : {2, 3, 8, 64, 1024})
    for (const std::size_t bytes : {1U, 64U, 4096U, 65536U, 1U << 20U})
      for (const std::size_t blocks : {4U, 64U, 10000U}) {
        const auto time = [&](const redistribution_algorithm& a) {
          const redistribution_problem one{.algorithm = &a,
                                           .ranks = p,
                                           .block_bytes = bytes,
                                           .block_length = bytes,
                                           .least_blocks = blocks,
                                           .most_blocks = blocks};
          const auto choice = choose_buffers(one, unlimited);
          redistribution_load load = load_of(one, choice->sizes);
          load.divide(static_cast<double>(choice->parts));
          return a.cost(load, m);
        };
        for (const auto* a : redistributions())
          EXPECT_LE(time(*find_redistribution("auto")), time(*a))
              << a->name << ", " << p << " ranks, " << blocks << " blocks of " << bytes << " bytes";
      }
}

}  // namespace
}  // namespace taquin::detail
