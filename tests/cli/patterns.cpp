// Permutations and collectives in list, plan and simulate.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "program.hpp"

namespace taquin::cli {
namespace {

TEST(patterns, are_listed_with_their_times) {
  const auto r = taquin(0, "list --patterns --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 11U);
  EXPECT_EQ(r.json()[0]["name"], "shift");
  for (const auto& one : r.json()) EXPECT_TRUE(one["source"].get<std::string>().starts_with("MPI primitives §")) << one;
}

// MPI primitives §3: a shift sends from rank i to i − 1, and the ends have one neighbour.
TEST(patterns, a_plan_shows_whom_a_rank_sends_to) {
  const auto middle = taquin(0, "plan -n 4 -r 2 --collective pattern -a shift:-1 -b 8");
  ASSERT_EQ(middle.status, 0) << middle.err;
  EXPECT_EQ(occurrences(middle.out, "send to       1"), 1) << middle.out;
  EXPECT_EQ(occurrences(middle.out, "recv from     3"), 1) << middle.out;
  const auto first = taquin(0, "plan -n 4 -r 0 --collective pattern -a shift:-1 -b 8");
  EXPECT_EQ(occurrences(first.out, "send to"), 0) << first.out;
  EXPECT_EQ(occurrences(first.out, "recv from     1"), 1) << first.out;
  const auto cube = taquin(0, "plan -n 8 -r 5 --collective pattern -a hypercube:4 -b 8");
  EXPECT_EQ(occurrences(cube.out, "send to       1"), 1) << cube.out;
}

// MPI primitives §4, on a power of two: what is simulated is what the closed form says.
TEST(patterns, take_the_time_of_the_closed_forms) {
  const auto r = taquin(0, "simulate -n 2..64 --collective pattern -b 4K --by hockney --json");
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 6U * 11U);
  for (const auto& one : r.json()) {
    // The closed forms count messages; schedules also copy and combine what is in a rank's memory.
    const double formula = one["formula_s"].get<double>();
    const bool copies = one["algorithm"] != "barrier" && one["algorithm"] != "broadcast" &&
                        one["algorithm"] != "shift" && one["algorithm"] != "ring" && one["algorithm"] != "hypercube";
    EXPECT_GE(one["schedule_s"].get<double>(), 0.999 * formula) << one;
    EXPECT_LE(one["schedule_s"].get<double>(), (copies ? 3 : 1.001) * formula) << one;
  }
}

TEST(patterns, that_do_not_exist_are_refused) {
  const std::array<std::pair<const char*, const char*>, 3> cases{
      {{"-n 4 --collective pattern -a star", "unknown pattern 'star'; known are all, shift, ring"},
       {"-n 4 --collective pattern -a ring:x", "As in ring:2"},
       {"-n 4 --collective pattern -a hypercube:-1", "As in hypercube:2"}}};
  expect_refused("plan", cases);
  expect_refused("simulate", cases);
}

}  // namespace
}  // namespace taquin::cli
