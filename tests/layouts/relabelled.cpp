// The assignment of positions to ranks that moves the fewest elements, against all assignments.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory_resource>
#include <numeric>
#include <vector>

#include "base/sizes.hpp"
#include "layouts/assignment.hpp"
#include "layouts/common.hpp"
#include "layouts/problems.hpp"
#include "layouts/shape.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

namespace taquin::detail {
namespace {

using test::layout_case;

count_t sum_of(const std::vector<weighted_pair>& pairs, const std::vector<int>& rank_of) {
  count_t sum = 0;
  for (const weighted_pair& p : pairs)
    if (rank_of[static_cast<std::size_t>(p.position)] == p.rank) sum += p.weight;
  return sum;
}

// The greatest sum of all assignments.
count_t best_of_all(const std::vector<weighted_pair>& pairs, int positions, int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  count_t best = 0;
  do {
    best = std::max(best, sum_of(pairs, {order.begin(), order.begin() + positions}));
  } while (std::ranges::next_permutation(order).found);
  return best;
}

bool names_each_once(std::vector<int> rank_of, int ranks) {
  std::erase(rank_of, -1);
  std::ranges::sort(rank_of);
  return std::ranges::adjacent_find(rank_of) == rank_of.end() &&
         std::ranges::all_of(rank_of, [&](int r) { return r >= 0 && r < ranks; });
}

RC_GTEST_PROP(layouts_relabelled, assignment_has_the_greatest_sum_and_the_greedy_one_at_least_half, ()) {
  auto pick = [](int a, int b) { return *rc::gen::inRange(a, b + 1); };
  const int ranks = pick(1, 6);
  const int positions = pick(1, ranks);
  const int most = pick(0, 1) == 0 ? 3 : 1000000;
  std::vector<weighted_pair> pairs;
  for (int p = 0; p < positions; ++p)
    for (int r = 0; r < ranks; ++r)
      if (const int weight = pick(0, most); weight > 0) pairs.push_back({weight, p, r});
  const count_t best = best_of_all(pairs, positions, ranks);
  const std::vector<int> exact = best_assignment(pairs, positions, ranks);
  RC_ASSERT(names_each_once(exact, ranks));
  RC_ASSERT(sum_of(pairs, exact) == best);
  const std::vector<int> greedy = greedy_assignment(pairs, positions, ranks);
  RC_ASSERT(names_each_once(greedy, ranks));
  RC_ASSERT(2 * sum_of(pairs, greedy) >= best);
}

// The elements that each position of the target and each rank of the source have in common, one by one.
std::vector<weighted_pair> common(const layout_case& c) {
  std::vector<weighted_pair> pairs;
  for (int p = 0; p < c.to.made.processes(); ++p)
    for (int r = 0; r < c.ranks; ++r) pairs.push_back({0, p, r});
  const auto sources = c.from.places();
  const auto targets = c.to.places();
  const std::size_t n = c.from.dimensions.size();
  std::vector<count_t> index(n, 0);
  for (const auto& source : sources) {
    bool inside = true;
    std::vector<count_t> there(n, 0);
    for (std::size_t d = 0; d < n; ++d) {
      const count_t i = index[d] - (c.options.from_begin.empty() ? 0 : c.options.from_begin[d]);
      inside = inside && i >= 0 && i < (c.options.extents.empty() ? c.from.dimensions[d].extent : c.options.extents[d]);
      const auto t = c.options.axes.empty() ? d : static_cast<std::size_t>(c.options.axes[d]);
      there[t] = i + (c.options.to_begin.empty() ? 0 : c.options.to_begin[t]);
    }
    if (inside) {
      count_t at = 0;
      for (std::size_t d = 0; d < n; ++d) at = at * c.to.dimensions[d].extent + there[d];
      const int rank = targets[static_cast<std::size_t>(at)].rank;
      const auto position = std::ranges::find(c.to.ranks, rank) - c.to.ranks.begin();
      ++pairs[static_cast<std::size_t>(position * c.ranks + source.rank)].weight;
    }
    for (std::size_t d = n; d-- > 0;) {
      if (++index[d] < c.from.dimensions[d].extent) break;
      index[d] = 0;
    }
  }
  return pairs;
}

RC_GTEST_PROP(layouts_relabelled, no_assignment_moves_fewer_elements, ()) {
  auto pick = [](int a, int b) { return *rc::gen::inRange(a, b + 1); };
  const layout_case c = test::some_case(pick, pick(1, 6));
  const std::vector<weighted_pair> pairs = common(c);
  const count_t all =
      std::accumulate(pairs.begin(), pairs.end(), count_t{0}, [](count_t n, const auto& p) { return n + p.weight; });
  RC_ASSERT(elements_moved(c.from.made, c.to.made, c.options) == all - sum_of(pairs, c.to.ranks));
  const layout better = c.to.made.relabelled(c.from.made, c.ranks, c.options);
  RC_ASSERT(better.invalid_on(c.ranks).empty());
  const int positions = static_cast<int>(c.to.made.processes());
  RC_ASSERT(elements_moved(c.from.made, better, c.options) == all - best_of_all(pairs, positions, c.ranks));
  // Only the ranks differ: a rank has the part of its coordinates.
  for (int r = 0; r < c.ranks; ++r) {
    const std::vector<int> at = better.coordinates(r);
    for (std::size_t d = 0; d < at.size(); ++d)
      RC_ASSERT(better.local_extents(r)[d] == (at[d] < 0 ? 0 : c.to.dimensions[d].owned(at[d])));
  }
}

RC_GTEST_PROP(layouts_relabelled, peers_of_a_rank_have_its_elements, ()) {
  auto pick = [](int a, int b) { return *rc::gen::inRange(a, b + 1); };
  const layout_case c = test::some_case(pick, pick(1, 7));
  const layout_shape shape(c.from.made, c.to.made, c.options, std::pmr::new_delete_resource());
  const std::size_t ranks = as_size(c.ranks);
  std::vector<count_t> expected(ranks * ranks, 0);  // by sender and receiver
  for (const weighted_pair& p : common(c))
    expected[as_size(p.rank) * ranks + as_size(c.to.ranks[as_size(p.position)])] = p.weight;
  for (const bool sends : {true, false}) {
    std::vector<count_t> got(expected.size(), 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const layout_peers peers(shape, c.from.made, c.to.made, c.options, static_cast<int>(rank), sends);
      count_t count = 0;
      peers.each([&](int peer, count_t elements) {
        got[sends ? rank * ranks + as_size(peer) : as_size(peer) * ranks + rank] += elements;
        ++count;
      });
      RC_ASSERT(count == peers.count());
    }
    RC_ASSERT(got == expected);
  }
}

TEST(layouts_relabelled, a_permutation_of_ranks_moves_nothing) {
  for (const int ranks : {5, 600}) {  // with the exact solver, and beyond it
    std::vector<int> turned(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) turned[static_cast<std::size_t>(r)] = (r * 7 + 3) % ranks;
    const layout from({dimension::cyclic(count_t{ranks} * 1000, ranks), dimension::whole(3)});
    layout to = from;
    to.on_ranks(turned);
    EXPECT_GT(elements_moved(from, to), 0);
    const layout better = to.relabelled(from, ranks);
    EXPECT_EQ(elements_moved(from, better), 0);
    EXPECT_EQ(better.coordinates(ranks - 1), (std::vector{ranks - 1, 0}));
  }
}

TEST(layouts_relabelled, a_layout_that_is_the_best_stays_as_it_is) {
  // Every pair has as many elements in common.
  const layout rows({dimension::even(12, 4), dimension::whole(12)});
  layout columns({dimension::whole(12), dimension::even(12, 4)});
  const std::vector<int> ranks{3, 0, 2, 1};
  columns.on_ranks(ranks);
  const layout same = columns.relabelled(rows, 6);
  for (int r = 0; r < 6; ++r) EXPECT_EQ(same.coordinates(r), columns.coordinates(r));
  EXPECT_EQ(elements_moved(rows, columns), 3 * 4 * 12 / 4 * 3);
}

// One block for each process and many small ones, of which none is visited: the numbers follow from the remainders.
TEST(layouts_relabelled, long_dimensions_are_counted_without_their_indices) {
  constexpr count_t n = count_t{1} << 50;
  const layout blocks({dimension::even(n, 4)});
  const layout cyclic({dimension::cyclic(n, 3, 1)});
  count_t kept = 0;
  for (int r = 0; r < 3; ++r) {
    const auto owned_below = [&](count_t index) {  // of rank r: the indices i with (i + 1) mod 3 = r
      const count_t first = (r + 2) % 3;
      return index > first ? (index - first - 1) / 3 + 1 : 0;
    };
    kept += owned_below(n / 4 * (r + 1)) - owned_below(n / 4 * r);
  }
  EXPECT_EQ(elements_moved(blocks, cyclic), n - kept);
  EXPECT_EQ(elements_moved(cyclic, blocks), n - kept);
  EXPECT_LE(elements_moved(blocks, cyclic.relabelled(blocks, 4)), n - kept);
}

TEST(layouts_relabelled, what_a_redistribution_refuses_is_refused) {
  const layout rows({dimension::even(12, 4), dimension::whole(5)});
  EXPECT_THROW((void)rows.relabelled(rows, 3), usage_error);
  EXPECT_THROW((void)rows.relabelled(layout({dimension::even(12, 4)}), 4), usage_error);
  EXPECT_THROW((void)elements_moved(rows, layout({dimension::whole(13), dimension::whole(5)})), usage_error);
  layout_options o;
  o.axes = {1, 1};
  EXPECT_THROW((void)elements_moved(rows, rows, o), usage_error);
}

}  // namespace
}  // namespace taquin::detail
