// The state machines of the in-place algorithms on thousands of random problems, all ranks in one process.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "in_place/lockstep.hpp"
#include "in_place/problems.hpp"
#include "taquin/memory_budget.hpp"

namespace taquin::detail {
namespace {

using rc::gen::inRange;
using rc::gen::just;
using rc::gen::weightedOneOf;

void expect_right(const in_place_problem& problem, const grant_limits& limits, const element& unit,
                  lockstep_order order, unsigned seed) {
  const in_place_buffers buffers(problem, unit);
  auto work = buffers.before;
  std::vector<grant_rank> ranks;
  for (std::size_t r = 0; r < work.size(); ++r)
    ranks.push_back({problem.out[r], problem.in[r], work[r].data(), limits});
  run_grants(ranks, unit, order, seed);
  for (std::size_t r = 0; r < work.size(); ++r)
    if (work[r] != buffers.expected[r]) throw std::runtime_error("rank " + std::to_string(r) + " is wrong");
}

grant_limits any_limits() {
  grant_limits l;
  l.runs = *weightedOneOf<int>({{2, just(1)}, {3, inRange(1, 6)}});
  l.per_peer = *inRange(1, 4);
  l.requests = *inRange(1, 9);
  l.sends = *inRange(1, 9);
  l.parked = *inRange(1, 6);
  l.aux = *weightedOneOf<count_t>({{1, just<count_t>(1)}, {2, inRange<count_t>(1, 40)}});
  l.chunk = *inRange<count_t>(1, 20);
  l.aux_chunk = *inRange<count_t>(1, 20);
  l.small_chunk = *inRange<count_t>(1, 10);
  return l;
}

in_place_problem any_problem(int least_ranks, int most_ranks, int most_count) {
  const auto p = static_cast<std::size_t>(*inRange(least_ranks, most_ranks + 1));
  const int most = *inRange(0, most_count + 1);
  const auto count = weightedOneOf<count_t>({{2, just<count_t>(0)}, {3, inRange<count_t>(0, most + 1)}});
  const auto counts =
      *rc::gen::container<std::vector<std::vector<count_t>>>(p, rc::gen::container<std::vector<count_t>>(p, count));
  layout_style style;
  style.permuted = *rc::gen::arbitrary<bool>();
  style.most_gap = *weightedOneOf<count_t>({{2, just<count_t>(0)}, {1, inRange<count_t>(0, 5)}});
  style.most_start = *inRange<count_t>(0, 10);
  return make_problem(counts, style, *inRange(0U, 1000U));
}

// Bytes, and elements with a hole behind their data.
element any_unit() { return *rc::gen::element(element::bytes(1), element{MPI_BYTE, 3, 5, 0, 3}); }

lockstep_order any_order() { return *rc::gen::element(lockstep_order::rounds, lockstep_order::random); }

void check(int least_ranks, int most_ranks, int most_count) {
  const auto problem = any_problem(least_ranks, most_ranks, most_count);
  RC_LOG() << "ranks " << problem.ranks;
  try {
    expect_right(problem, any_limits(), any_unit(), any_order(), *rc::gen::arbitrary<unsigned>());
  } catch (const std::exception& e) {
    RC_FAIL(e.what());
  }
}

TEST(grants, place_every_unit_and_touch_nothing_else) {
  for (int batch = 0; batch < 20; ++batch) ASSERT_TRUE(rc::check([] { check(1, 9, 30); })) << batch;
}

TEST(grants, do_so_with_up_to_64_ranks) {
  EXPECT_TRUE(rc::check([] { check(10, 64, 12); }));
}

TEST(grants, end_with_one_unit_of_memory_whatever_the_traffic) {
  constexpr count_t n = 24;
  for (const std::size_t p : {2U, 3U, 5U, 8U}) {
    const auto none = std::vector<std::vector<count_t>>(p, std::vector<count_t>(p, 0));
    std::vector<std::vector<std::vector<count_t>>> traffic(7, none);
    for (std::size_t i = 0; i < p; ++i) {
      traffic[0][0][i] = n;                     // one sends everything
      traffic[1][i][0] = n;                     // one receives everything
      if (i + 1 < p) traffic[2][i][i + 1] = n;  // a chain
      traffic[3][i][(i + 1) % p] = n;           // a cycle through all, no slack
      traffic[4][i][p - 1 - i] = n;             // pairs, no slack
      for (std::size_t j = 0; j < p; ++j) {
        traffic[5][i][j] = n;              // all to all, no slack
        if (i != 0) traffic[6][i][j] = n;  // all but one
      }
    }
    for (const auto& counts : traffic)
      for (const bool permuted : {false, true})
        for (const int runs : {1, 2, 8})
          for (const auto order : {lockstep_order::rounds, lockstep_order::random}) {
            grant_limits l;
            l.runs = runs;
            EXPECT_NO_THROW(expect_right(make_problem(counts, {permuted, 0, 0}, 1), l, element::bytes(2), order, 7));
          }
  }
}

TEST(grants, keep_their_bookkeeping_within_what_the_limits_state) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t p = 2 + seed % 7;
    std::vector<std::vector<count_t>> counts(p, std::vector<count_t>(p));
    for (auto& row : counts)
      for (auto& c : row) c = static_cast<count_t>(random() % 40);
    const auto problem = make_problem(counts, {true, 2, 5}, seed);
    grant_limits l{.runs = 1 + static_cast<int>(seed % 3), .per_peer = 2, .requests = 3, .sends = 2, .parked = 2};
    l.aux = 5, l.chunk = 4, l.aux_chunk = 3;
    std::vector<std::unique_ptr<memory_budget>> budgets;
    std::vector<grant_rank> ranks;
    for (std::size_t r = 0; r < p; ++r) {
      budgets.push_back(std::make_unique<memory_budget>(l.bytes(problem.out[r].size(), problem.in[r].size())));
      ranks.push_back({problem.out[r], problem.in[r], nullptr, l, budgets.back().get()});
    }
    EXPECT_NO_THROW(run_grants(ranks, element::bytes(1), lockstep_order::random, seed));
  }
}

}  // namespace
}  // namespace taquin::detail
