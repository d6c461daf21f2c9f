// The costs of an exchange for a rank must not grow faster than the number of its peers.
#include <gtest/gtest.h>

#include "harness/in_place_scale.hpp"

namespace taquin::detail {
namespace {

constexpr count_t bytes = 1 << 18;

// `factor` for traffic that happens to be worse with one number of ranks than with another.
void expect_at_most(const scale_cost& c, const scale_cost& base, double factor, int ranks) {
  const auto compare = [&](const char* what, auto mine, auto other) {
    EXPECT_LE(static_cast<double>(mine), factor * static_cast<double>(other)) << what << ", " << ranks << " ranks";
  };
  compare("rounds", c.rounds, base.rounds);
  compare("messages", c.messages, base.messages);
  compare("copied", c.copied, base.copied);
  compare("memory", c.memory, base.memory);
}

TEST(scale, costs_a_rank_as_much_among_1024_as_among_16_with_as_many_peers) {
  for (const auto algorithm : {scale_algorithm::requests, scale_algorithm::phases_sparse}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    const auto base = cost_at_scale(algorithm, 16, 8, bytes);
    for (const int ranks : {64, 256, 1024}) expect_at_most(cost_at_scale(algorithm, ranks, 8, bytes), base, 2, ranks);
  }
}

TEST(scale, grows_no_faster_than_the_number_of_peers) {
  for (const auto algorithm : {scale_algorithm::requests, scale_algorithm::phases_dense}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    const auto base = cost_at_scale(algorithm, 16, 16, bytes);
    for (const int ranks : {32, 64, 128})
      expect_at_most(cost_at_scale(algorithm, ranks, ranks, bytes), base, 1.5 * ranks / 16, ranks);
  }
}

}  // namespace
}  // namespace taquin::detail
