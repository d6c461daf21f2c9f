// Waiting that is known of some calls alone: clamped in each, estimated for all, with an interval.
#include <gtest/gtest.h>

#include <random>

#include "interpose/observe/log.hpp"

namespace taquin::interpose {
namespace {

rank_log with_one_site() {
  rank_log log;
  log.sites.emplace_back();
  return log;
}

TEST(wait_samples, is_exact_when_each_call_stands_for_itself) {
  rank_log log = with_one_site();
  double waited = 0;
  double lasted = 0;
  for (int call = 1; call <= 100; ++call) {
    const double wait = 1e-6 * call;
    log.waited({0, entry::no_run, 0, 1, wait + 5e-5}, wait, 0, 1);
    waited += wait;
    lasted += wait + 5e-5;
  }
  const estimate e = log.sites[0].waits.of(lasted);
  EXPECT_NEAR(e.value, waited, 1e-12);
  EXPECT_NEAR(e.low, waited, 1e-12);
  EXPECT_NEAR(e.high, waited, 1e-12);
}

TEST(wait_samples, counts_no_wait_that_is_longer_than_its_call) {
  rank_log log = with_one_site();
  log.waited({0, entry::no_run, 0, 1, 1e-3}, 7e-3, 0, 1);   // clocks of two nodes differ
  log.waited({0, entry::no_run, 0, 1, 1e-3}, -2e-3, 0, 0);  // by as much in the other direction
  EXPECT_DOUBLE_EQ(log.sites[0].waits.of(2e-3).value, 1e-3);
  EXPECT_DOUBLE_EQ(log.sites[0].waited_for.at(1).seconds, 1e-3);
  EXPECT_DOUBLE_EQ(log.sites[0].waited_for.at(0).seconds, 0);
}

TEST(wait_samples, never_exceeds_the_time_of_all_calls) {
  rank_log log = with_one_site();
  log.waited({0, entry::no_run, 0, 8, 3e-3}, 3e-3, 0, 1);  // the one call of eight that lasted long
  const estimate e = log.sites[0].waits.of(4e-3);
  EXPECT_LE(e.value, 4e-3);
  EXPECT_LE(e.high, 4e-3);
}

// Every eighth of many random calls, again and again: the interval holds the truth in about 95 of 100 cases.
TEST(wait_samples, gives_an_interval_that_holds_the_truth) {
  std::mt19937 random(7);
  std::exponential_distribution<double> wait(1e4);
  std::uniform_real_distribution<double> transfer(1e-4, 2e-4);
  constexpr int cases = 400;
  int holds = 0;
  double widths = 0;
  for (int one = 0; one < cases; ++one) {
    rank_log log = with_one_site();
    double waited = 0;
    double lasted = 0;
    for (int call = 0; call < 4000; ++call) {
      const double w = wait(random);
      const double seconds = w + transfer(random);
      waited += w;
      lasted += seconds;
      if (call % 8 == 0) log.waited({0, entry::no_run, 0, 8, seconds}, w, 0, 1);
    }
    const estimate e = log.sites[0].waits.of(lasted);
    holds += e.low <= waited && waited <= e.high ? 1 : 0;
    widths += (e.high - e.low) / waited;
  }
  EXPECT_GE(holds, cases * 90 / 100);
  EXPECT_LE(holds, cases * 99 / 100);
  EXPECT_LT(widths / cases, 0.2);
}

TEST(wait_samples, survives_the_way_to_rank_0) {
  rank_log log = with_one_site();
  log.program = "program";
  log.sites[0].object = "/bin/program";
  log.sites[0].sizes = {{-1, 2}, {10, 3}};
  log.sites[0].algorithms = {{"pairwise", 4}};
  log.sites[0].flows = {1, 2, 3};
  log.runs.push_back({{.row = 3, .element_bytes = 8}, 5, 1.0, 0.1, 0.5, 0.25, 4});
  log.open = {{{1.5, 0, 0, 8, 0.5}}};
  log.comms.push_back({{2, 7}, 1, {4, 2}});
  log.traced.push_back({0, 1, "auto"});
  log.waited({0, 0, 0, 8, 3e-3}, 1e-3, 2e-3, 1);
  const rank_log same = rank_log::unpacked(log.packed());
  EXPECT_EQ(same.packed(), log.packed());
  EXPECT_EQ(same.sites[0].object, "/bin/program");
  EXPECT_EQ(same.sites[0].sizes.at(10), 3U);
  EXPECT_EQ(same.sites[0].flows, (std::vector<count_t>{1, 2, 3}));
  EXPECT_EQ(same.runs[0].what, log.runs[0].what);
  EXPECT_EQ(same.runs[0].waiting, log.runs[0].waiting);
  EXPECT_EQ(same.open[0][0].seconds, 0.5);
  EXPECT_EQ(same.comms[0].world_ranks, (std::vector<int>{4, 2}));
  EXPECT_EQ(same.sites[0].waits.of(1).value, log.sites[0].waits.of(1).value);
}

}  // namespace
}  // namespace taquin::interpose
