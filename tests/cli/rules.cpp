// From measured times to rules.
#include "cli/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace taquin::cli {
namespace {

using form = exchange::form;

// Seconds that are known to a hundredth.
measured_call call(double bytes, const std::map<std::string, double>& seconds, std::uint64_t calls = 1) {
  measured_call c{.kind = form::alltoallv, .ranks = 4, .nodes = 2, .bytes = bytes, .calls = calls};
  for (const auto& [name, s] : seconds) c.seconds[name] = {s, 0.99 * s, 1.01 * s};
  return c;
}

TEST(rules, the_fastest_of_each_size_reaches_half_way_to_the_next) {
  const auto [rules, doubts] =
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
  EXPECT_TRUE(doubts.empty());
}

TEST(rules, there_is_none_for_a_size_whose_best_is_not_told_apart_and_none_reaches_it) {
  auto unclear = call(400, {{"a", 1}, {"auto", 1.01}});
  const auto [rules, doubts] =
      rules_of({call(100, {{"a", 1}, {"auto", 2}}), unclear, call(1600, {{"a", 1}, {"auto", 3}})});
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_DOUBLE_EQ(rules[0].most_bytes, 200);
  EXPECT_DOUBLE_EQ(rules[1].least_bytes, 800);
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(doubts[0].of.bytes, 400);
  EXPECT_EQ(words_of(doubts[0]),
            "a 1.000 s (990.000 ms .. 1.010 s) and auto 1.010 s (999.900 ms .. 1.020 s) are not told apart");
}

TEST(rules, the_best_must_be_below_what_the_calls_go_by_without_it_and_the_mpi_library) {
  const auto rules = [](const std::map<std::string, double>& seconds) {
    return rules_of({call(8, seconds)}).rules.size();
  };
  EXPECT_EQ(rules({{"a", 1}, {"b", 1.01}, {"native", 2}, {"auto", 2}}), 1U) << "either of the two helps";
  EXPECT_EQ(rules({{"a", 1}, {"native", 1.01}, {"auto", 2}}), 0U);
  EXPECT_EQ(rules({{"a", 1}, {"native", 2}, {"auto", 1}}), 0U);
  EXPECT_EQ(rules({{"native", 1}, {"a", 1.01}, {"auto", 2}}), 1U) << "auto is what it is instead of";
  EXPECT_EQ(rules({{"native", 1}, {"a", 1.01}}), 0U) << "auto may take a";
  EXPECT_EQ(rules({{"auto", 1}, {"a", 2}}), 0U) << "auto is no name to ask for, and best";
  EXPECT_EQ(rules({{"a", 1}, {"b", 1.01}}), 0U);
}

TEST(rules, few_samples_tell_nothing_apart) {
  auto c = call(8, {});
  c.seconds = {{"a", timing_of({1, 1, 1})}, {"auto", timing_of({9, 9, 9})}};
  const auto [rules, doubts] = rules_of({c});
  EXPECT_TRUE(rules.empty());
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(words_of(doubts[0]),
            "a 1.000 s (fewer than 4 samples) and auto 9.000 s (fewer than 4 samples) are not told apart");
  c.seconds = {{"a", timing_of({1, 1, 1, 1})}, {"auto", timing_of({9, 9, 9, 9})}};
  EXPECT_EQ(rules_of({c}).rules.size(), 1U);
}

TEST(rules, sizes_without_a_rule_are_one_line_for_each_kind_of_call) {
  doubt d{.of = call(8, {}), .best = "a", .other = "auto"};
  std::vector<doubt> all(95, d);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].of.bytes = 1024 * static_cast<double>(i + 1);
  d.of.kind = form::alltoall;
  all.push_back(d);
  d.of.reused = true;
  all.push_back(d);
  d.of.nodes = 1;
  all.push_back(d);
  const std::string text = words_of(all);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_NE(text.find("no rule for alltoallv of 95 sizes from 1 KiB to 95 KiB on 4 ranks, 2 nodes: for example a "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("no rule for alltoall of 8 B on 4 ranks, 2 nodes: a "), std::string::npos) << text;
  EXPECT_NE(text.find("no rule for alltoall of 8 B on 4 ranks, 2 nodes, by a plan: a "), std::string::npos) << text;
  EXPECT_NE(text.find("no rule for alltoall of 8 B on 4 ranks, by a plan: a "), std::string::npos) << text;
  EXPECT_EQ(words_of(std::vector<doubt>{}), "");
}

TEST(rules, calls_of_one_size_count_as_often_as_they_were_made) {
  const auto rules = rules_of({call(8, {{"a", 1}, {"b", 2}}, 3), call(8, {{"a", 9}, {"b", 2}})}).rules;
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].algorithm, "b") << "8 seconds instead of 12";
}

TEST(rules, what_does_not_serve_all_calls_of_a_size_is_left_out) {
  const auto rules = rules_of({call(8, {{"a", 1}, {"b", 2}}), call(8, {{"b", 2}})}).rules;
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].algorithm, "b");
}

TEST(rules, kinds_of_calls_have_rules_of_their_own) {
  auto other = call(8, {{"b", 1}});
  other.reused = true;
  EXPECT_EQ(rules_of({call(8, {{"a", 1}}), other}).rules.size(), 2U);
  EXPECT_TRUE(rules_of({}).rules.empty());
}

}  // namespace
}  // namespace taquin::cli
