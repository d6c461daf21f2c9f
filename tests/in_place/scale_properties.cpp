// What an exchange costs a rank must not grow faster than the number of its peers.
#include <gtest/gtest.h>

#include <cstdint>

#include "in_place/scale.hpp"

namespace taquin::detail {
namespace {

constexpr count_t bytes = 1 << 18;

// What is left out: it grows faster than the peers where every rank sends to all, see docs/in-place.md.
enum class figure : std::uint8_t { none, rounds, messages };

// `factor` for traffic that happens to be worse with one number of ranks than with another.
void expect_at_most(const scale_cost& c, const scale_cost& base, double factor, int ranks,
                    figure left_out = figure::none) {
  const auto compare = [&](const char* what, auto mine, auto other) {
    EXPECT_LE(static_cast<double>(mine), factor * static_cast<double>(other)) << what << ", " << ranks << " ranks";
  };
  if (left_out != figure::rounds) compare("rounds", c.rounds, base.rounds);
  if (left_out != figure::messages) compare("messages", c.messages, base.messages);
  compare("copied", c.copied, base.copied);
  compare("memory", c.memory, base.memory);
}

class scale : public testing::TestWithParam<scale_algorithm> {};

TEST_P(scale, costs_a_rank_as_much_among_1024_as_among_16_with_as_many_peers) {
  const auto base = cost_at_scale(GetParam(), 16, 8, bytes);
  for (const int ranks : {64, 256, 1024}) expect_at_most(cost_at_scale(GetParam(), ranks, 8, bytes), base, 2, ranks);
}

TEST_P(scale, grows_no_faster_than_the_number_of_peers) {
  const auto base = cost_at_scale(GetParam(), 16, 16, bytes);
  for (const int ranks : {32, 64, 128})
    expect_at_most(cost_at_scale(GetParam(), ranks, ranks, bytes), base, 1.5 * ranks / 16, ranks,
                   GetParam() == scale_algorithm::in_place ? figure::rounds : figure::messages);
}

INSTANTIATE_TEST_SUITE_P(algorithms, scale, testing::Values(scale_algorithm::in_place, scale_algorithm::phases_sparse));

}  // namespace
}  // namespace taquin::detail
