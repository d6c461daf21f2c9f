// Fits recover what generated the samples, noise and outliers notwithstanding.
#include "simulation/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "simulation/calibrate.hpp"

namespace taquin::detail {
namespace {

std::vector<message_sample> samples_of(double noise, bool outlier) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> d(1 - noise, 1 + noise);
  std::vector<message_sample> samples;
  for (count_t bytes = 1; bytes <= 4 << 20; bytes *= 4) {
    const auto b = static_cast<double>(bytes);
    samples.push_back({bytes, (3e-6 + 2e-10 * b) * d(random), (1e-6 + 2e-10 * b) * d(random), 0.4e-6, 0.6e-6});
  }
  if (outlier) samples[5].one_way *= 20;
  return samples;
}

TEST(fits, recover_exact_parameters) {
  const auto l = fit(samples_of(0, false));
  EXPECT_NEAR(l.hockney.tau, 3e-6, 1e-9);
  EXPECT_NEAR(l.hockney.mu, 2e-10, 1e-13);
  EXPECT_NEAR(l.loggp.overhead, 0.5e-6, 1e-9);
  EXPECT_NEAR(l.loggp.latency, 2e-6, 1e-9);
  EXPECT_NEAR(l.loggp.gap, 1e-6, 1e-9);
  EXPECT_NEAR(l.plogp.latency, 2e-6, 1e-9);
  for (const auto kind : {model_kind::hockney, model_kind::loggp, model_kind::plogp})
    EXPECT_LT(error_of(l, kind, samples_of(0, false)).p90, 0.01) << name_of(kind);
}

// Kielmann et al.: g(m) is that of saturated links, whatever a single message takes, and never below os(m) or or(m).
TEST(fits, plogp_has_the_gaps_that_were_measured) {
  const std::vector<message_sample> samples{{1, 3e-6, 1e-6, 0.4e-6, 0.6e-6},
                                            {64, 5e-6, 0.2e-6, 0.4e-6, 0.6e-6},  // handled slower than they follow
                                            {4096, 9e-6, 2e-6, 0.5e-6, 0.7e-6}};
  const plogp p = fit(samples).plogp;
  EXPECT_NEAR(p.latency, 2e-6, 1e-15);
  EXPECT_NEAR(p.at(1).gap, 1e-6, 1e-15);
  EXPECT_NEAR(p.at(64).gap, 0.6e-6, 1e-15);
  EXPECT_NEAR(p.at(4096).gap, 2e-6, 1e-15) << "not what makes up the time of one message";
  EXPECT_EQ(raised_gaps(samples), 1U);
  for (const auto& at : p.points) EXPECT_GE(at.gap, std::max(at.send_overhead, at.receive_overhead));
}

TEST(fits, are_judged_by_messages_that_were_not_fitted) {
  calibration c;
  c.samples[0] = samples_of(0, false);
  c.model.levels[0] = fit(c.samples[0]);
  c.checks[0] = c.samples[0];
  for (auto& s : c.checks[0]) s.one_way *= 2;
  for (const fit_quality& q : qualities(c)) EXPECT_NEAR(q.median, 0.5, 0.1) << name_of(q.kind);
}

TEST(fits, tell_what_is_uncertain) {
  EXPECT_EQ(uncertainty_of({1, 1, 1}), 0);
  EXPECT_EQ(uncertainty_of(std::vector<double>(60, 2.0)), 0);
  std::vector<double> wide;
  for (int i = 0; i < 100; ++i) wide.push_back(100 + i);  // median 150, 95% interval about 140 to 160
  EXPECT_NEAR(uncertainty_of(wide), 10.0 / 150, 0.01);
  calibration c;
  c.samples[1] = samples_of(0, false);
  c.samples[1][0].uncertainty = 0.5;
  c.samples[1][1].gap = 0;
  const std::string text = doubts(c);
  EXPECT_EQ(text.find("between nodes: one-way times are known to 0.0% (median)"), 0U) << text;
  EXPECT_NE(text.find("1 of 12 sizes to no better than 10%"), std::string::npos) << text;
  EXPECT_NE(text.find("at 1 of 12 sizes"), std::string::npos) << text;
}

TEST(fits, bear_noise_and_an_outlier) {
  const auto l = fit(samples_of(0.1, true));
  EXPECT_NEAR(l.hockney.tau, 3e-6, 0.4e-6);
  EXPECT_NEAR(l.hockney.mu, 2e-10, 0.2e-10);
}

TEST(fits, never_have_negative_parameters) {
  const std::vector<count_t> bytes{1, 10, 100};
  const std::vector<seconds> falling{3e-6, 2e-6, 1e-6};
  const line l = fit_line(bytes, falling);
  EXPECT_GE(l.each, 0);
  EXPECT_EQ(l.per_byte, 0);
  const std::vector<seconds> steep{1e-9, 1e-6, 1e-4};
  EXPECT_GE(fit_line(bytes, steep).each, 0);
}

TEST(fits, percentiles_are_by_nearest_rank) {
  EXPECT_EQ(percentiles({}).median, 0);
  EXPECT_EQ(percentiles({3, 1, 2}).median, 2);
  EXPECT_EQ(percentiles({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).p90, 9);
}

TEST(fits, that_are_poor_are_warned_of_with_the_model_that_is_better) {
  const std::vector<fit_quality> fits{
      {model_kind::loggp, 0, 0.96, 1}, {model_kind::plogp, 0, 0.01, 0.02}, {model_kind::loggp, 1, 0.1, 0.2}};
  const std::string text = poor_fits(model_kind::loggp, fits);
  EXPECT_EQ(text.find("warning: loggp within a node is off by 96% (median)"), 0U) << text;
  EXPECT_NE(text.find("plogp is off by 1%"), std::string::npos) << text;
  EXPECT_EQ(text.find("between nodes"), std::string::npos) << text;
  EXPECT_EQ(poor_fits(model_kind::plogp, fits), "");
  EXPECT_NE(poor_fits(model_kind::loggp, {{model_kind::loggp, 0, 0.96, 1}}).find("measure again"), std::string::npos);
}

}  // namespace
}  // namespace taquin::detail
