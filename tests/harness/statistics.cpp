#include "harness/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace taquin::harness {
namespace {

TEST(statistics, median_of_odd_and_even_numbers_of_values) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
}

TEST(statistics, interpolate_quantiles) {
  EXPECT_DOUBLE_EQ(quantile({0, 10, 20, 30, 40}, 0.25), 10);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.75), 7.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 1), 10);
}

TEST(statistics, tukeys_filter_removes_what_is_far_out) {
  EXPECT_EQ(without_outliers({10, 11, 12, 13, 100}), (std::vector<double>{10, 11, 12, 13}));
  EXPECT_EQ(without_outliers({5, 5, 5}), (std::vector<double>{5, 5, 5}));
}

TEST(statistics, the_interval_is_that_of_the_sign_test) {
  std::vector<double> values(10);
  std::iota(values.begin(), values.end(), 1);
  const summary s = summarise(values);  // for n = 10 the 2nd and 9th values: 97.9%
  EXPECT_DOUBLE_EQ(s.median, 5.5);
  EXPECT_DOUBLE_EQ(s.ci95.low, 2);
  EXPECT_DOUBLE_EQ(s.ci95.high, 9);
  values.resize(100);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_DOUBLE_EQ(summarise(values).ci95.low, 40);
  EXPECT_DOUBLE_EQ(summarise(values).ci95.high, 61);
}

TEST(statistics, few_values_give_their_whole_range) {
  const summary s = summarise({1, 2, 3});
  EXPECT_DOUBLE_EQ(s.ci95.low, 1);
  EXPECT_DOUBLE_EQ(s.ci95.high, 3);
  EXPECT_DOUBLE_EQ(summarise({4}).ci95.low, 4);
}

}  // namespace
}  // namespace taquin::harness
