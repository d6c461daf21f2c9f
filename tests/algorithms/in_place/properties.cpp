// The state machine of in_place on thousands of random problems, all ranks in one process.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/in_place/generators.hpp"
#include "base/memory_budget.hpp"
#include "harness/in_place_problems.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::detail {
namespace {

using rc::gen::inRange;
using rc::gen::just;
using rc::gen::weightedOneOf;

void expect_in_place_right(const in_place_problem& problem, const in_place_limits& limits, const element& unit,
                           simulated_order order, unsigned seed, simulated_port_kind how) {
  expect_right<in_place_rank>(
      problem, limits, unit, [&](const auto& ranks) { run_in_place(ranks, unit, order, seed, how); }, limits.scratch);
}

in_place_limits any_limits() {
  in_place_limits l;
  l.runs = *weightedOneOf<int>({{2, just(1)}, {3, inRange(1, 6)}});
  l.per_peer = *inRange(1, 4);
  l.requests = *inRange(1, 9);
  l.sends = *inRange(1, 9);
  l.staged = *inRange(1, 6);
  l.aux = any_aux();
  l.chunk = *inRange<count_t>(1, 20);
  l.aux_chunk = *inRange<count_t>(1, 20);
  l.small_chunk = *inRange<count_t>(1, 10);
  l.swap_chunk = *inRange<count_t>(1, 20);
  l.scratch = *rc::gen::arbitrary<bool>();
  return l;
}

void check(int least_ranks, int most_ranks, int most_count) {
  check_problem(least_ranks, most_ranks, most_count, [](const in_place_problem& problem) {
    expect_in_place_right(problem, any_limits(), any_unit(), any_order(), *rc::gen::arbitrary<unsigned>(),
                          *rc::gen::element(simulated_port_kind::messages, simulated_port_kind::fetching,
                                            simulated_port_kind::fetching_on_nodes));
  });
}

TEST(grants, place_every_unit_and_touch_nothing_else) {
  for (int batch = 0; batch < 20; ++batch) ASSERT_TRUE(rc::check([] { check(1, 9, 30); })) << batch;
}

TEST(grants, deliver_every_unit_with_up_to_64_ranks) {
  for (int batch = 0; batch < 10; ++batch) ASSERT_TRUE(rc::check([] { check(10, 64, 40); })) << batch;
}

// Each rank's buffer of units as one array for each part of a unit.
class in_columns {
 public:
  in_columns(std::span<const std::byte> buffer, std::span<const std::size_t> widths) : arrays_(widths.size()) {
    const std::size_t unit = std::reduce(widths.begin(), widths.end());
    std::size_t before = 0;
    for (std::size_t c = 0; c < widths.size(); before += widths[c++]) {
      for (std::size_t at = 0; at < buffer.size(); at += unit)
        for (std::size_t b = 0; b < widths[c]; ++b) arrays_[c].push_back(buffer[at + before + b]);
      columns_.push_back({arrays_[c].data(), widths[c], before});
    }
  }
  [[nodiscard]] std::span<const unit_column> columns() const { return columns_; }
  [[nodiscard]] std::vector<std::byte> together() const {
    std::vector<std::byte> all;
    for (std::size_t at = 0; at * columns_[0].bytes < arrays_[0].size(); ++at)
      for (const unit_column& c : columns_) all.insert(all.end(), c.data + at * c.bytes, c.data + (at + 1) * c.bytes);
    return all;
  }

 private:
  std::vector<std::vector<std::byte>> arrays_;
  std::vector<unit_column> columns_;
};

void expect_columns_right(const in_place_problem& problem, const in_place_limits& limits,
                          std::span<const std::size_t> widths, simulated_order order, unsigned seed,
                          simulated_port_kind how) {
  const element unit = element::bytes(static_cast<count_t>(std::reduce(widths.begin(), widths.end())));
  in_place_buffers buffers(problem, unit);
  std::vector<in_columns> work;
  for (const auto& b : buffers.before) work.emplace_back(b, widths);
  std::vector<in_place_rank> ranks;
  for (std::size_t r = 0; r < work.size(); ++r) {
    ranks.push_back({.out = problem.out[r], .in = problem.in[r], .limits = limits});
    ranks.back().columns = work[r].columns();
  }
  run_in_place(ranks, unit, order, seed, how);
  for (std::size_t r = 0; r < work.size(); ++r) {
    const auto all = work[r].together();
    if (limits.scratch) forget_sent(problem, r, unit, all, buffers.expected[r]);
    if (all != buffers.expected[r]) throw std::runtime_error("rank " + std::to_string(r) + " is wrong");
  }
}

TEST(grants, place_every_unit_that_has_parts_in_several_arrays) {
  const auto check_columns = [](int least_ranks, int most_ranks, int most_count) {
    check_problem(least_ranks, most_ranks, most_count, [](const in_place_problem& problem) {
      const auto widths = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(inRange<std::size_t>(1, 9)));
      in_place_limits limits = any_limits();
      limits.columns = static_cast<int>(widths.size());
      expect_columns_right(problem, limits, widths, any_order(), *rc::gen::arbitrary<unsigned>(),
                           *rc::gen::element(simulated_port_kind::messages, simulated_port_kind::fetching,
                                             simulated_port_kind::fetching_on_nodes));
    });
  };
  for (int batch = 0; batch < 10; ++batch) ASSERT_TRUE(rc::check([&] { check_columns(1, 9, 30); })) << batch;
}

TEST(grants, end_with_one_unit_of_memory_whatever_the_traffic) {
  constexpr count_t n = 24;
  for (const std::size_t p : {2U, 3U, 5U, 8U}) {
    for (const auto& counts : extreme_traffic(p, n))
      for (const bool permuted : {false, true})
        for (const int runs : {1, 2, 8})
          for (const auto order : {simulated_order::rounds, simulated_order::random}) {
            in_place_limits l;
            l.runs = runs;
            for (const auto how :
                 {simulated_port_kind::messages, simulated_port_kind::fetching, simulated_port_kind::fetching_on_nodes})
              EXPECT_NO_THROW(expect_in_place_right(make_problem(counts, {permuted, 0, 0}, 1), l, element::bytes(2),
                                                    order, 7, how));
          }
  }
}

// Two ranks swap 64 units, and each has sent another 64 from where nothing arrives.
TEST(grants, use_what_has_been_sent_as_auxiliary_memory) {
  const auto problem = make_problem({{0, 64, 64}, {64, 0, 64}, {0, 0, 0}}, {}, 1);
  std::uint64_t rounds[2];
  for (const bool scratch : {false, true}) {
    in_place_limits l{.chunk = 16, .aux_chunk = 16, .scratch = scratch};
    const auto run = [&](const auto& ranks) {
      rounds[scratch ? 1 : 0] = run_in_place(ranks, element::bytes(1), simulated_order::rounds)[0].rounds;
    };
    EXPECT_NO_THROW(expect_right<in_place_rank>(problem, l, element::bytes(1), run, scratch));
  }
  EXPECT_LT(2 * rounds[1], rounds[0]);
}

// All to all with equal blocks leaves no place free. If ranks reach each other's memory no rank needs any of its own
// for it.
TEST(grants, swap_what_stands_in_each_others_places) {
  std::vector<std::vector<count_t>> counts(5, std::vector<count_t>(5, 12));
  counts[3][1] = 20;  // the rest of it moves as everything else
  const auto problem = make_problem(counts, {}, 1);
  const in_place_limits l{.aux = 4, .chunk = 8, .aux_chunk = 4, .swap_chunk = 3};
  const auto copied = [&](simulated_port_kind how) {
    std::uint64_t units = 0;
    const auto run = [&](const auto& ranks) {
      for (const auto& c : run_in_place(ranks, element::bytes(1), simulated_order::random, 3, how))
        units += c.units_copied;
    };
    EXPECT_NO_THROW(expect_right<in_place_rank>(problem, l, element::bytes(1), run));
    return units;
  };
  // The longer block shifts what is behind it, so that three pairs of the ten do not stand in each other's places.
  EXPECT_LT(3 * copied(simulated_port_kind::fetching), copied(simulated_port_kind::messages));
}

// Incoming data belong a unit before or after the data that leave, so that a staged run never has all of its place free
// while more data arrive. A rank that waits for the last unit reaches its idle threshold before it continues.
TEST(grants, place_most_of_what_is_staged_without_waiting_for_the_rest) {
  constexpr count_t n = 100;
  const in_place_limits l{.aux = 40, .chunk = n, .aux_chunk = 40, .small_chunk = 20};
  const std::vector<peer_block> in_behind{{1, n, 1}};
  const std::vector<peer_block> out_before{{0, n, 1}};
  const std::vector<peer_block> in_before{{0, n, 1}};
  const std::vector<peer_block> out_behind{{1, n, 1}, {0, 1, 2}};
  for (const bool behind : {true, false}) {
    in_place_machine m(0, behind ? out_before : out_behind, behind ? in_behind : in_before, l,
                       std::pmr::new_delete_resource());
    m.reset();
    const auto staged = m.next(false).request;
    ASSERT_TRUE(staged);
    EXPECT_EQ(staged->length, l.aux);
    m.arrived(staged->slot, l.aux);
    EXPECT_FALSE(m.next(false).move);
    ASSERT_TRUE(m.fetched(1, 0, l.aux));
    const auto home = m.next(false).move;
    ASSERT_TRUE(home) << behind;
    EXPECT_EQ(home->length, l.aux - 1);
    EXPECT_EQ(home->from, m.border() + (behind ? 0 : 1));
    EXPECT_EQ(home->to, 1);
  }
}

TEST(grants, keep_their_bookkeeping_within_what_the_limits_state) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::size_t p = 2 + seed % 7;
    const auto problem = make_problem(random_counts(p, 40, seed), {true, 2, 5}, seed);
    in_place_limits l{.runs = 1 + static_cast<int>(seed % 3), .per_peer = 2, .requests = 3, .sends = 2, .staged = 2};
    l.aux = 5, l.chunk = 4, l.aux_chunk = 3;
    std::vector<std::unique_ptr<memory_budget>> budgets;
    std::vector<in_place_rank> ranks;
    for (std::size_t r = 0; r < p; ++r) {
      budgets.push_back(
          std::make_unique<memory_budget>(in_place_machine::bytes(l, problem.out[r].size(), problem.in[r].size())));
      ranks.push_back({problem.out[r], problem.in[r], nullptr, l, budgets.back().get()});
    }
    EXPECT_NO_THROW(run_in_place(ranks, element::bytes(1), simulated_order::random, seed));
  }
}

}  // namespace
}  // namespace taquin::detail
