// From measured times to rules.
#include "cli/rules.hpp"

#include <gtest/gtest.h>

namespace taquin::cli {
namespace {

using form = exchange::form;

measured_call call(double bytes, std::map<std::string, double> seconds, std::uint64_t calls = 1) {
  return {
      .kind = form::alltoallv, .ranks = 4, .nodes = 2, .bytes = bytes, .calls = calls, .seconds = std::move(seconds)};
}

TEST(rules, the_fastest_of_each_size_reaches_half_way_to_the_next) {
  const auto rules =
      rules_of({call(100, {{"a", 1}, {"b", 2}}), call(400, {{"a", 1}, {"b", 3}}), call(1600, {{"a", 5}, {"b", 4}})});
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].algorithm, "a");
  EXPECT_DOUBLE_EQ(rules[0].least_bytes, 50);
  EXPECT_DOUBLE_EQ(rules[0].most_bytes, 800);
  EXPECT_EQ(rules[1].algorithm, "b");
  EXPECT_DOUBLE_EQ(rules[1].least_bytes, 800);
  EXPECT_DOUBLE_EQ(rules[1].most_bytes, 3200);
  EXPECT_EQ(rules[0].kind, form::alltoallv);
  EXPECT_EQ(rules[0].ranks, 4);
  EXPECT_EQ(rules[0].nodes, 2);
  EXPECT_EQ(rules[0].reused, false);
}

TEST(rules, calls_of_one_size_count_as_often_as_they_were_made) {
  const auto rules = rules_of({call(8, {{"a", 1}, {"b", 2}}, 3), call(8, {{"a", 9}, {"b", 2}})});
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].algorithm, "b") << "8 seconds instead of 12";
}

TEST(rules, what_does_not_serve_all_calls_of_a_size_is_left_out) {
  const auto rules = rules_of({call(8, {{"a", 1}, {"b", 2}}), call(8, {{"b", 2}})});
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].algorithm, "b");
}

TEST(rules, kinds_of_calls_have_rules_of_their_own) {
  auto other = call(8, {{"b", 1}});
  other.reused = true;
  EXPECT_EQ(rules_of({call(8, {{"a", 1}}), other}).size(), 2U);
  EXPECT_TRUE(rules_of({}).empty());
}

}  // namespace
}  // namespace taquin::cli
