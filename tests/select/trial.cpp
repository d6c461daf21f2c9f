// The rule of all trials: which call a way serves, and which way wins.
#include "select/trial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace taquin::detail {
namespace {

std::vector<std::size_t> ways_of(const trial& t) {
  std::vector<std::size_t> ways;
  for (std::uint64_t call = 0; call < t.calls(); ++call) ways.push_back(t.candidate(call));
  return ways;
}

TEST(trial, gives_each_way_its_calls_in_turn) {
  EXPECT_EQ(ways_of({3, 2, trial::order::in_turn}), (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
}

TEST(trial, gives_each_way_its_calls_one_after_the_other) {
  EXPECT_EQ(ways_of({3, 2, trial::order::one_after_the_other}), (std::vector<std::size_t>{0, 0, 1, 1, 2, 2}));
}

TEST(trial, keeps_the_best_time_of_a_way) {
  trial t(2, 3, trial::order::in_turn);
  EXPECT_EQ(t.best()[1], trial::never);
  for (const double s : {3.0, 1.0, 2.0}) t.took(1, s);
  EXPECT_EQ(t.best()[1], 1.0);
  EXPECT_EQ(t.best()[0], trial::never);
}

// Way 0 is the fastest on two of three ranks, and takes 9 on the other.
TEST(trial, decides_by_the_slowest_rank_of_a_way) {
  trial t(2, 1, trial::order::in_turn);
  EXPECT_EQ(t.decide(std::array{1.0, 5.0, 9.0, 6.0, 1.0, 7.0}), 1U);
  EXPECT_EQ(t.best()[0], 9.0);
  EXPECT_EQ(t.best()[1], 7.0);
}

TEST(trial, gives_equal_times_to_the_first) {
  trial t(3, 1, trial::order::in_turn);
  EXPECT_EQ(t.decide(std::array{2.0, 1.0, 1.0}), 1U);
}

}  // namespace
}  // namespace taquin::detail
