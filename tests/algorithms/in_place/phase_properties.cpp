// The state machine of in_place_phases on thousands of random problems, all ranks in one process.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "algorithms/in_place/generators.hpp"
#include "base/memory_budget.hpp"
#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::detail {
namespace {

using rc::gen::inRange;

void expect_phases_right(const in_place_problem& problem, const phase_limits& limits, const element& unit,
                         phase_requests how, simulated_order order, unsigned seed) {
  expect_right<phase_rank>(problem, limits, unit,
                           [&](const auto& ranks) { run_phases(ranks, unit, how, order, seed); });
}

phase_requests any_requests() { return *rc::gen::element(phase_requests::dense, phase_requests::sparse); }

// Each static part has a unit at least.
phase_limits any_phase_limits() {
  phase_limits l;
  l.heap = *rc::gen::arbitrary<bool>();
  l.parts = l.heap ? 1 : *inRange(1, 9);
  l.aux = std::max<count_t>(any_aux(), l.parts);
  l.most = *rc::gen::weightedOneOf<count_t>({{2, rc::gen::just<count_t>(1 << 20)}, {1, inRange<count_t>(1, 20)}});
  return l;
}

void check_phases(int least_ranks, int most_ranks, int most_count) {
  check_problem(least_ranks, most_ranks, most_count, [](const in_place_problem& problem) {
    expect_phases_right(problem, any_phase_limits(), any_unit(), any_requests(), any_order(),
                        *rc::gen::arbitrary<unsigned>());
  });
}

TEST(phases, place_every_unit_and_touch_nothing_else) {
  for (int batch = 0; batch < 20; ++batch) ASSERT_TRUE(rc::check([] { check_phases(1, 9, 30); })) << batch;
}

TEST(phases, place_every_unit_with_up_to_64_ranks) {
  for (int batch = 0; batch < 10; ++batch) ASSERT_TRUE(rc::check([] { check_phases(10, 64, 40); })) << batch;
}

TEST(phases, end_with_one_unit_of_memory_whatever_the_traffic) {
  constexpr count_t n = 24;
  for (const std::size_t p : {2U, 3U, 5U, 8U})
    for (const auto& counts : extreme_traffic(p, n))
      for (const bool permuted : {false, true})
        for (const bool heap : {false, true})
          for (const auto how : {phase_requests::dense, phase_requests::sparse})
            for (const auto order : {simulated_order::rounds, simulated_order::random}) {
              const phase_limits l{.heap = heap, .most = 1 << 20};
              EXPECT_NO_THROW(
                  expect_phases_right(make_problem(counts, {permuted, 0, 0}, 1), l, element::bytes(2), how, order, 7));
            }
}

TEST(phases, take_no_more_memory_than_the_limits_state) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::size_t p = 2 + seed % 7;
    const auto problem = make_problem(random_counts(p, 40, seed), {true, 2, 5}, seed);
    const phase_limits l{.aux = 5, .parts = seed % 2 == 0 ? 1 : 3, .heap = seed % 2 == 0, .most = 8};
    std::vector<std::unique_ptr<memory_budget>> budgets;
    std::vector<phase_rank> ranks;
    for (std::size_t r = 0; r < p; ++r) {
      budgets.push_back(std::make_unique<memory_budget>(
          in_place_phases_machine::bytes(l, problem.out[r].size(), problem.in[r].size())));
      ranks.push_back({problem.out[r], problem.in[r], nullptr, l, budgets.back().get()});
    }
    EXPECT_NO_THROW(run_phases(ranks, element::bytes(1), phase_requests::sparse, simulated_order::random, seed));
  }
}

TEST(phases, need_one_phase_when_auxiliary_memory_holds_all_and_fewer_with_more_memory) {
  const auto problem = make_problem(random_counts(8, 40, 5), {true, 0, 0}, 5);
  std::uint64_t before = UINT64_MAX;
  for (const count_t aux : {1, 4, 16, 64, 320}) {
    std::vector<phase_rank> ranks;
    for (std::size_t r = 0; r < 8; ++r)
      ranks.push_back({problem.out[r], problem.in[r], nullptr, {.aux = aux, .heap = true, .most = 1 << 20}});
    std::uint64_t rounds = 0;
    for (const auto& c : run_phases(ranks, element::bytes(1), phase_requests::sparse, simulated_order::rounds))
      rounds = std::max(rounds, c.rounds);
    EXPECT_LT(rounds, before) << aux;
    before = rounds;
  }
  EXPECT_LE(before, 3U);  // requests, data, and the data's arrival
}

// Each rank has `bytes`, and 1% of them as auxiliary memory, as in the paper's experiments (§4).
std::uint64_t rounds_by_parts(const std::vector<std::vector<count_t>>& counts, count_t aux, int parts) {
  const auto problem = make_problem(counts, {false, 0, 0}, 1);
  std::vector<phase_rank> ranks;
  for (std::size_t r = 0; r < counts.size(); ++r)
    ranks.push_back({problem.out[r], problem.in[r], nullptr, {.aux = aux, .parts = parts, .most = 1 << 20}});
  std::uint64_t rounds = 0;
  for (const auto& c : run_phases(ranks, element::bytes(1), phase_requests::sparse, simulated_order::rounds))
    rounds = std::max(rounds, c.rounds);
  return rounds;
}

// A row of `bytes` cut at random places.
std::vector<std::vector<count_t>> cut_at_random(std::size_t p, count_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<count_t>> counts(p);
  for (auto& row : counts) {
    std::vector<count_t> cuts{0, bytes};
    while (cuts.size() <= p) cuts.push_back(static_cast<count_t>(random() % static_cast<unsigned>(bytes + 1)));
    std::ranges::sort(cuts);
    for (std::size_t k = 0; k < p; ++k) row.push_back(cuts[k + 1] - cuts[k]);
  }
  return counts;
}

// Figure 2 (left): more parts make an exchange faster. Equal blocks of 8 ranks need fewer phases; parts beyond the
// number of sources change nothing. Blocks of random sizes need about as many as with one part, because the sources
// that have data left share all of the memory: otherwise the largest block alone would take parts times as many.
TEST(phases, are_fewer_with_more_parts_for_equal_blocks_and_not_many_more_for_random_ones) {
  const std::vector<std::vector<count_t>> equal(8, std::vector<count_t>(8, 500));
  const auto one = rounds_by_parts(equal, 40, 1);
  EXPECT_LT(rounds_by_parts(equal, 40, 2), one);
  EXPECT_LT(rounds_by_parts(equal, 40, 8), rounds_by_parts(equal, 40, 2));
  EXPECT_EQ(rounds_by_parts(equal, 40, 16), rounds_by_parts(equal, 40, 8));
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    const auto random = cut_at_random(8, 4000, seed);
    const auto by_one = rounds_by_parts(random, 40, 1);
    for (const int parts : {2, 4, 8, 16})
      EXPECT_LE(rounds_by_parts(random, 40, parts), 2 * by_one) << parts << " parts, seed " << seed << ", " << by_one;
  }
}

}  // namespace
}  // namespace taquin::detail
