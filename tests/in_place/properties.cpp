// The state machines of the in-place algorithms on thousands of random problems, all ranks in one process.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "in_place/lockstep.hpp"
#include "in_place/problems.hpp"

namespace taquin::detail {
namespace {

struct setting {
  in_place_problem problem;
  grant_limits limits;
  element unit;
  unsigned seed = 0;
};

void check_grants(const setting& s) {
  for (const auto order : {lockstep_order::rounds, lockstep_order::random}) {
    in_place_buffers buffers(s.problem, s.unit);
    auto work = buffers.before;
    std::vector<grant_rank> ranks;
    for (std::size_t r = 0; r < work.size(); ++r)
      ranks.push_back({s.problem.out[r], s.problem.in[r], work[r].data(), s.limits});
    run_grants(ranks, s.unit, order, s.seed);
    for (std::size_t r = 0; r < work.size(); ++r) RC_ASSERT(work[r] == buffers.expected[r]);
  }
}

grant_limits any_limits() {
  grant_limits l;
  l.runs = *rc::gen::weightedOneOf<int>({{2, rc::gen::just(1)}, {3, rc::gen::inRange(1, 6)}});
  l.per_peer = *rc::gen::inRange(1, 4);
  l.requests = *rc::gen::inRange(1, 9);
  l.sends = *rc::gen::inRange(1, 9);
  l.parked = *rc::gen::inRange(1, 6);
  l.aux = *rc::gen::weightedOneOf<count_t>({{1, rc::gen::just<count_t>(1)}, {2, rc::gen::inRange<count_t>(1, 40)}});
  l.chunk = *rc::gen::inRange<count_t>(1, 20);
  l.aux_chunk = *rc::gen::inRange<count_t>(1, 20);
  l.small_chunk = *rc::gen::inRange<count_t>(1, 10);
  return l;
}

in_place_problem any_problem(int most_ranks, int most_count) {
  const auto p = static_cast<std::size_t>(*rc::gen::inRange(1, most_ranks + 1));
  const int most = *rc::gen::inRange(0, most_count + 1);
  const auto count =
      rc::gen::weightedOneOf<count_t>({{2, rc::gen::just<count_t>(0)}, {3, rc::gen::inRange<count_t>(0, most + 1)}});
  const auto counts =
      *rc::gen::container<std::vector<std::vector<count_t>>>(p, rc::gen::container<std::vector<count_t>>(p, count));
  layout_style style;
  style.permuted = *rc::gen::arbitrary<bool>();
  style.most_gap =
      *rc::gen::weightedOneOf<count_t>({{2, rc::gen::just<count_t>(0)}, {1, rc::gen::inRange<count_t>(0, 5)}});
  style.most_start = *rc::gen::inRange<count_t>(0, 10);
  return make_problem(counts, style, *rc::gen::inRange(0u, 1000u));
}

TEST(in_place_properties, grants_place_every_unit_and_touch_nothing_else) {
  EXPECT_TRUE(rc::check([] {
    check_grants({any_problem(9, 30), any_limits(), element::bytes(1), *rc::gen::arbitrary<unsigned>()});
  }));
}

}  // namespace
}  // namespace taquin::detail
