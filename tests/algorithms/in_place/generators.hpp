// Common parts of the property tests of both in-place algorithms: random problems that shrink, and the comparison.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::detail {

inline in_place_problem any_problem(int least_ranks, int most_ranks, int most_count) {
  using rc::gen::inRange;
  using rc::gen::just;
  using rc::gen::weightedOneOf;
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

/// Bytes, and elements with a gap after their data.
inline element any_unit() { return *rc::gen::element(element::bytes(1), element{MPI_BYTE, 3, 5, 0, 3}); }

inline simulated_order any_order() { return *rc::gen::element(simulated_order::rounds, simulated_order::random); }

/// Units of auxiliary memory: often one.
inline count_t any_aux() {
  return *rc::gen::weightedOneOf<count_t>({{1, rc::gen::just<count_t>(1)}, {2, rc::gen::inRange<count_t>(1, 40)}});
}

/// `run` gets the ranks, of type `Rank` with these limits, and runs them. Throws where a byte differs afterwards from
/// the plain permutation; with `scratch_sends` one that is not only sent.
template <class Rank, class Limits, class Run>
void expect_right(const in_place_problem& problem, const Limits& limits, const element& unit, Run run,
                  bool scratch_sends = false) {
  in_place_buffers buffers(problem, unit);
  auto work = buffers.before;
  std::vector<Rank> ranks;
  for (std::size_t r = 0; r < work.size(); ++r)
    ranks.push_back({problem.out[r], problem.in[r], work[r].data(), limits});
  run(ranks);
  for (std::size_t r = 0; r < work.size(); ++r) {
    if (scratch_sends) forget_sent(problem, r, unit, work[r], buffers.expected[r]);
    if (work[r] != buffers.expected[r]) throw std::runtime_error("rank " + std::to_string(r) + " is wrong");
  }
}

/// A property of random problems: `check` throws where it does not hold.
template <class Check>
void check_problem(int least_ranks, int most_ranks, int most_count, Check check) {
  const auto problem = any_problem(least_ranks, most_ranks, most_count);
  RC_LOG() << "ranks " << problem.ranks;
  try {
    check(problem);
  } catch (const std::exception& e) {
    RC_FAIL(e.what());
  }
}

/// Traffic between p ranks that leaves no slack, or much on one side.
inline std::vector<std::vector<std::vector<count_t>>> extreme_traffic(std::size_t p, count_t n) {
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
  return traffic;
}

/// Irregular counts up to `most` between p ranks.
inline std::vector<std::vector<count_t>> random_counts(std::size_t p, unsigned most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<count_t>> counts(p, std::vector<count_t>(p));
  for (auto& row : counts)
    for (auto& c : row) c = static_cast<count_t>(random() % most);
  return counts;
}

}  // namespace taquin::detail
