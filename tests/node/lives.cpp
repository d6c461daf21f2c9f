#include "node/lives.hpp"

#include <gtest/gtest.h>

namespace taquin::detail {
namespace {

TEST(lives, two_short_ones_make_a_third_likely) {
  lives all;
  all.learn(3, 2);
  EXPECT_FALSE(all.end_soon(0));
  all.learn(8, 2);
  EXPECT_TRUE(all.end_soon(0));
  EXPECT_FALSE(all.end_soon(1));
}

TEST(lives, that_end_before_anything_is_made_say_nothing) {
  lives all;
  for (int i = 0; i < 5; ++i) all.learn(2, 2);
  for (int i = 0; i < 5; ++i) all.learn(4, 4);
  EXPECT_FALSE(all.end_soon(0));
}

TEST(lives, of_the_second_step_count_from_the_first) {
  lives all;
  all.learn(9, 2);
  all.learn(32, 2);
  EXPECT_TRUE(all.end_soon(0)) << "what is made for 32 calls does not pay";
  EXPECT_TRUE(all.end_soon(1));
  EXPECT_FALSE(all.end_soon(2));
  all.learn(33, 2);
  EXPECT_FALSE(all.end_soon(1));
}

TEST(lives, are_forgotten_after_as_many_long_ones) {
  lives all;
  for (int i = 0; i < 100; ++i) all.learn(5, 2);
  all.learn(1000, 2);
  EXPECT_TRUE(all.end_soon(0)) << "one long life among many short ones";
  all.learn(1000, 2);
  EXPECT_FALSE(all.end_soon(0));
}

TEST(lives, of_many_ranks_begin_with_more_calls) {
  lives all;
  all.learn(16, 4);
  all.learn(16, 4);
  EXPECT_TRUE(all.end_soon(0));
  EXPECT_FALSE(all.end_soon(1));
}

}  // namespace
}  // namespace taquin::detail
