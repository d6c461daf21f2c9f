// Online autotuning of blocking calls between nodes, for all ranks in one process: all find the same, and in few calls.
#include "select/algorithm_trial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace taquin::detail {
namespace {

TEST(algorithm_trial, measures_both_and_stays_with_the_faster) {
  algorithm_trial c(&native, &node_aggregated);
  std::vector<std::size_t> who;
  for (int i = 0; i < 12; ++i) {
    who.push_back(c.next());
    c.learn(who.back(), who.back() == 0 ? 900 + static_cast<std::uint64_t>(i) : 400);
  }
  EXPECT_EQ(who, (std::vector<std::size_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(c.settled());
}

TEST(algorithm_trial, takes_the_shortest_time) {
  algorithm_trial c(&native, &node_aggregated);
  for (const std::uint64_t t : {5000, 300, 4000, 9000}) c.learn(0, t);
  for (int i = 0; i < 4; ++i) c.learn(1, 400);
  EXPECT_EQ(c.next(), 0U);
}

TEST(algorithm_trial, the_first_call_of_each_does_not_count) {
  algorithm_trial c(&native, &node_aggregated);
  for (const std::uint64_t t : {100, 500, 500, 500}) c.learn(0, t);
  for (int i = 0; i < 4; ++i) c.learn(1, 400);
  EXPECT_EQ(c.next(), 1U);
}

TEST(algorithm_trial, a_failed_call_proves_nothing) {
  algorithm_trial c(&native, &node_aggregated);
  for (int i = 0; i < 4; ++i) c.learn(0, algorithm_trial::unknown);
  for (int i = 0; i < 4; ++i) c.learn(1, 400);
  EXPECT_EQ(c.next(), 1U);
}

TEST(algorithm_trial, one_that_is_alone_does_all) {
  const algorithm_trial c(&native, nullptr);
  EXPECT_TRUE(c.settled());
  EXPECT_EQ(c.next(), 0U);
}

// A thousand calls whose sizes change at random places, among ranks whose clocks differ: every rank has the same
// choices, and together they cost little more than the best choice for each call would.
TEST(algorithm_trial, ranks_learn_alike_and_cheaply) {
  std::mt19937 random(1);
  for (int program = 0; program < 50; ++program) {
    constexpr std::size_t ranks = 5;
    struct rank_state {
      algorithm_trial small{&node_aggregated, &native};
      algorithm_trial large{&native, &spread_out};
    };
    std::vector<rank_state> all(ranks);
    double best = 0;
    double spent = 0;
    bool is_small = true;
    for (int call = 0; call < 1000; ++call) {
      if (random() % 40 == 0) is_small = !is_small;
      const double small_time = 500;
      const double native_time = is_small ? 1000 : 10000;
      best += is_small ? small_time : 9900;
      const auto of = [&](rank_state& s) -> algorithm_trial& { return is_small ? s.small : s.large; };
      const std::size_t turn = of(all[0]).next();
      const algorithm* const who = of(all[0]).who(turn);
      const double time = who == &node_aggregated ? small_time : who == &spread_out ? 9900 : native_time;
      spent += time + (who == &node_aggregated ? 0 : 300);
      auto agreed = algorithm_trial::unknown;
      for (std::size_t r = 0; r < ranks; ++r) {
        ASSERT_EQ(of(all[r]).next(), turn);
        agreed = std::min(agreed, static_cast<std::uint64_t>(time) + random() % 100);
      }
      for (auto& s : all) {
        if (!of(s).settled()) of(s).learn(turn, agreed);
      }
    }
    EXPECT_LT(spent, 1.1 * best) << "program " << program;
  }
}

}  // namespace
}  // namespace taquin::detail
