// The arrival times of ranks, and the values of another clock.
#include "harness/start.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "harness/errors.hpp"

namespace taquin::harness {
namespace {

TEST(arrivals, are_read_with_their_times) {
  EXPECT_EQ(arrival::parse("together").how, arrival::pattern::together);
  EXPECT_DOUBLE_EQ(arrival::parse("random:50us").delay, 50e-6);
  EXPECT_DOUBLE_EQ(arrival::parse("sorted").delay, 100e-6);
  const auto last = arrival::parse("last:3:1ms");
  EXPECT_EQ(last.rank, 3);
  EXPECT_DOUBLE_EQ(last.delay, 1e-3);
  EXPECT_DOUBLE_EQ(arrival::parse("last:3").delay, 100e-6);
  for (const char* bad : {"", "soon", "random:", "random:50", "random:-1us", "random:11s", "last", "last:", "last:x",
                          "last:-1", "last:3us", "last:3:", "sorted:1h", "together:1us"})
    EXPECT_THROW(arrival::parse(bad), usage) << bad;
}

TEST(arrivals, delay_the_ranks_that_they_name) {
  const auto last = arrival::parse("last:2:1ms");
  const auto sorted = arrival::parse("sorted:3ms");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_DOUBLE_EQ(last.of(rank, 4, 7, 1), rank == 2 ? 1e-3 : 0);
    EXPECT_NEAR(sorted.of(rank, 4, 7, 1), 1e-3 * rank, 1e-12);
  }
  EXPECT_EQ(sorted.of(0, 1, 0, 1), 0) << "one rank comes at once";
  EXPECT_DOUBLE_EQ(last.latest(4, 0, 1), 1e-3);
}

TEST(arrivals, at_random_are_within_the_time_alike_for_a_seed_and_others_each_repetition) {
  const auto random = arrival::parse("random:1ms");
  double sum = 0;
  for (int repetition = 0; repetition < 50; ++repetition)
    for (int rank = 0; rank < 8; ++rank) {
      const double d = random.of(rank, 8, repetition, 5);
      EXPECT_GE(d, 0);
      EXPECT_LT(d, 1e-3);
      EXPECT_LE(d, random.latest(8, repetition, 5));
      EXPECT_EQ(d, random.of(rank, 8, repetition, 5));
      sum += d;
    }
  EXPECT_NEAR(sum / 400, 0.5e-3, 0.1e-3);
  EXPECT_NE(random.of(1, 8, 0, 5), random.of(1, 8, 1, 5));
  EXPECT_NE(random.of(1, 8, 0, 5), random.of(1, 8, 0, 6));
}

TEST(clocks, are_compared_by_the_shortest_round_trip) {
  const std::array trips{round_trip{0, 105, 10}, round_trip{20, 120.5, 21}, round_trip{30, 180, 60}};
  EXPECT_DOUBLE_EQ(offset_of(trips.data(), 3), 100);
}

TEST(clocks, synchronisation_by_another_name_is_refused) {
  EXPECT_EQ(parse_sync("window"), sync_by::window);
  EXPECT_THROW(parse_sync("clock"), usage);
}

}  // namespace
}  // namespace taquin::harness
