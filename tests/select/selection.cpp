// The choice among algorithms, without MPI: by time, by memory, by the order of the list, by measured points.
#include "select/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace taquin::detail {
namespace {

// Any algorithm may be chosen for a plan, whatever its kind of progress.
constexpr options any{.progress = progress_by::calls};

shape equal_blocks(int p, std::uint64_t block) {
  return {.ranks = p,
          .kind = exchange::form::alltoallv,
          .uniform = true,
          .max_block_bytes = block,
          .min_block_bytes = block,
          .max_rank_bytes = block * static_cast<unsigned>(p),
          .max_received_bytes = block * static_cast<unsigned>(p)};
}

shape one_buffer(int p, std::uint64_t block, bool symmetric) {
  shape s = equal_blocks(p, block);
  s.in_place = true;
  s.symmetric = symmetric;
  s.max_peers = p;
  s.one_unit = true;
  s.unit_size = 1;
  return s;
}

measured_point measured(const char* name, const shape& s, seconds time) {
  return {.algorithm = name,
          .ranks = s.ranks,
          .kind = s.kind,
          .in_place = s.in_place,
          .symmetric = s.symmetric,
          .reused = true,
          .skew = skew_of(s),
          .bytes = static_cast<double>(s.max_rank_bytes),
          .time = time};
}

std::string_view chosen(const shape& s, std::size_t limit = unlimited, const profile& p = {}) {
  const algorithm* a = select(s, any, true, limit, p);
  return a == nullptr ? "none" : a->name;
}

TEST(selection, every_prediction_is_finite_and_grows_with_the_bytes) {
  const profile p;
  for (const auto* a : algorithms())
    for (const bool in_place : {false, true})
      for (const int ranks : {1, 2, 3, 8, 100, 10000})
        for (const int node : {0, 1, 4}) {
          if (node > ranks) continue;
          seconds before = 0;
          for (const std::uint64_t block : {0U, 1U, 8U, 1000U, 100000U, 100000000U}) {
            shape s = in_place ? one_buffer(ranks, block, false) : equal_blocks(ranks, block);
            if (node > 0) s.nodes = (ranks + node - 1) / node, s.largest_node = node, s.smallest_node = 1;
            if (!a->supports(s)) continue;
            const seconds time = predict(*a, s, {}, true, p);
            EXPECT_TRUE(std::isfinite(time)) << a->name;
            EXPECT_GE(time, block < 1000 ? 0 : before) << a->name << ", " << ranks << " ranks, block " << block;
            before = time;
          }
        }
}

TEST(selection, takes_the_least_predicted_time) {
  const profile p;
  for (const std::uint64_t block : {8U, 1000U, 1000000U}) {
    const shape s = equal_blocks(64, block);
    const algorithm* best = select(s, any, true, unlimited, p);
    for (const auto& c : candidates(s, {}, true, p)) {
      if (c.supported) {
        EXPECT_GE(c.time, predict(*best, s, {}, true, p)) << c.what->name;
      }
    }
  }
}

TEST(selection, small_blocks_go_in_log_rounds_and_large_ones_directly) {
  EXPECT_NE(chosen(equal_blocks(1024, 8)).find("bruck"), std::string_view::npos);
  const shape large = equal_blocks(1024, 1 << 20);
  EXPECT_EQ(chosen(large), "spread_out");
  EXPECT_EQ(select(large, {}, false, unlimited, {}), &native) << "a blocking call has nothing to prepare for it";
}

// Plans whose programs promise no calls of taquin: one round, unless only others serve or fit.
TEST(selection, plans_end_by_the_mpi_library_alone_where_any_algorithm_does) {
  for (const std::uint64_t block : {8U, 1000U, 1000000U}) {
    const shape s = equal_blocks(64, block);
    const algorithm* a = select(s, {}, true, unlimited, {});
    ASSERT_NE(a->ends_by_itself, nullptr) << a->name;
    EXPECT_TRUE(a->ends_by_itself(s, {}, unlimited)) << a->name;
  }
  const shape permuted = one_buffer(8, 1000, false);
  EXPECT_NE(select(permuted, {}, true, unlimited, {}), nullptr);
  shape node = equal_blocks(4, 8);
  node.shared = true;
  EXPECT_TRUE(shared_memory.ends_by_itself(node, {}, unlimited));
  node = equal_blocks(4, 1 << 20);
  node.shared = true;
  EXPECT_FALSE(shared_memory.ends_by_itself(node, {}, unlimited)) << "large blocks are fetched";
}

TEST(selection, leaves_shared_memory_where_its_lines_are_dear) {
  shape s = equal_blocks(64, 8);
  s.shared = true;
  EXPECT_EQ(chosen(s), "shared_memory");
  profile p{.model = machine_model::built_in(), .points = {}};
  p.model.line = 1e-6;
  EXPECT_NE(chosen(s, unlimited, p).find("bruck"), std::string_view::npos) << "fewer meetings than 63 lines";
  s = equal_blocks(8, 8);
  s.shared = true;
  p.model.line = 0.05e-6;
  EXPECT_EQ(chosen(s, unlimited, p), "shared_memory");
}

TEST(selection, gives_ties_to_the_first_of_the_list) {
  const shape s = equal_blocks(8, 1 << 20);
  ASSERT_EQ(predict(pairwise, s, {}, true, {}), predict(one_factor, s, {}, true, {}));
  const auto order = ranking(s, any, true, unlimited, {});
  EXPECT_LT(std::ranges::find(order, &pairwise), std::ranges::find(order, &one_factor));
  profile p;
  p.points = {measured("one_factor", s, 1e-3), measured("pairwise", s, 1e-3)};
  EXPECT_EQ(chosen(s, unlimited, p), "pairwise");
}

TEST(selection, keeps_to_the_memory_that_is_allowed) {
  const shape s = equal_blocks(256, 8);
  const algorithm* free = select(s, any, true, unlimited, {});
  const std::size_t needed = free->memory(s, {});
  EXPECT_EQ(select(s, any, true, needed, {}), free);
  const algorithm* tight = select(s, any, true, needed - 1, {});
  EXPECT_NE(tight, free);
  EXPECT_LT(tight->memory(s, {}), needed);
}

TEST(selection, takes_what_needs_least_where_nothing_fits) {
  const shape s = equal_blocks(8, 8);
  const algorithm* least = select(s, any, true, 0, {});
  for (const auto& c : candidates(s, {}, true, {})) {
    if (c.supported) {
      EXPECT_LE(least->memory(s, {}), c.memory);
    }
  }
}

TEST(selection, one_buffer_with_any_counts_is_served_in_place) {
  for (const std::uint64_t block : {8U, 100000U}) {
    const shape s = one_buffer(8, block, false);
    const algorithm* a = select(s, any, true, unlimited, {});
    ASSERT_NE(a, nullptr);
    EXPECT_TRUE(a->supports(s));
    EXPECT_NE(a->name, "native");
  }
}

// in_place polls, which counts where ranks share cores; in_place_phases has rounds and moves all data inside its rank.
TEST(selection, in_place_exchanges_go_by_costs_as_all_others_do) {
  const auto uneven = [](std::uint64_t mean) {
    shape s = one_buffer(4, mean, false);
    s.uniform = false;
    s.max_block_bytes = 2 * mean;
    return s;
  };
  profile shared;
  share_cores(shared.model, 4, 2);
  for (const std::uint64_t mean : {64, 16 << 10, 4 << 20}) {
    const auto costs = [&](const algorithm& a, const profile& p) { return predict(a, uneven(mean), {}, true, p); };
    EXPECT_LT(costs(in_place, {}), 1.5 * costs(in_place_phases, {})) << mean;
    EXPECT_LT(costs(in_place_phases, shared), costs(in_place, shared)) << mean;
  }
}

TEST(selection, a_sparse_exchange_is_not_charged_for_blocks_that_are_empty) {
  shape s = equal_blocks(64, 64);
  const seconds full = predict(spread_out, s, {}, true, {});
  s.uniform = false;
  s.min_block_bytes = 0;
  s.max_block_bytes = s.max_rank_bytes / 2;
  EXPECT_LT(predict(spread_out, s, {}, true, {}), full / 2);
}

TEST(selection, small_blocks_that_ride_cost_a_blocking_call_less_than_messages_of_their_own) {
  shape small = equal_blocks(8, 8);
  small.nodes = 2;
  small.largest_node = small.smallest_node = 4;
  small.piggybacked_block = 64;
  EXPECT_EQ(select(small, {}, false, unlimited, {}), &node_aggregated);
}

TEST(selection, mpi_in_place_within_no_memory_is_not_left_without_an_algorithm) {
  shape s = one_buffer(8, 1000, true);
  EXPECT_NE(chosen(s), "none");
  s.kind = exchange::form::alltoall;
  EXPECT_NE(chosen(s), "none");
  EXPECT_NE(chosen(s, 0), "none");
}

TEST(selection, measured_times_rule_over_predicted_ones) {
  const shape s = equal_blocks(8, 1 << 20);
  profile p;
  p.points = {measured("native", s, 2e-3), measured("pairwise", s, 1e-3)};
  EXPECT_EQ(chosen(s, unlimited, p), "pairwise");
  EXPECT_DOUBLE_EQ(predict(pairwise, s, {}, true, p), 1e-3);
}

TEST(selection, what_was_not_measured_does_not_compare_with_what_was) {
  const shape s = equal_blocks(8, 1 << 20);
  profile p;
  p.points = {measured("two_phase", s, 100)};  // predictions of all others are far below
  EXPECT_EQ(chosen(s, unlimited, p), "two_phase");
  EXPECT_EQ(chosen(s, two_phase.memory(s, {}) - 1, p), "spread_out") << "nothing measured fits";
}

TEST(selection, measured_points_are_interpolated_in_the_logarithms) {
  profile p;
  p.points = {measured("pairwise", equal_blocks(8, 1000), 1e-6), measured("pairwise", equal_blocks(8, 64000), 64e-6)};
  EXPECT_NEAR(predict(pairwise, equal_blocks(8, 8000), {}, true, p), 8e-6, 1e-8);
  const shape beyond = equal_blocks(8, 1 << 26);
  const seconds growth = pairwise.cost(beyond, {}, p.model) / pairwise.cost(equal_blocks(8, 64000), {}, p.model);
  EXPECT_NEAR(predict(pairwise, beyond, {}, true, p), 64e-6 * growth, 1e-3 * 64e-6 * growth);
}

TEST(selection, measured_points_hold_for_their_own_kind_only) {
  const shape s = equal_blocks(8, 1000);
  const seconds plain = predict(pairwise, s, {}, true, {});
  const auto with = [&](auto change) {
    measured_point m = measured("pairwise", s, 1);
    change(m);
    profile p;
    p.points = {m};
    return predict(pairwise, s, {}, true, p);
  };
  EXPECT_EQ(with([](auto&) {}), 1);
  EXPECT_EQ(with([](auto& m) { m.ranks = 4; }), plain);
  EXPECT_EQ(with([](auto& m) { m.reused = !m.reused; }), plain);
  EXPECT_EQ(with([](auto& m) { m.in_place = true; }), plain);
  EXPECT_EQ(with([](auto& m) { m.symmetric = false; }), plain);
  EXPECT_EQ(with([](auto& m) { m.skew = 2; }), plain);
  EXPECT_EQ(with([](auto& m) { m.kind = exchange::form::alltoallw; }), plain);
  EXPECT_EQ(with([](auto& m) { m.algorithm = "unheard_of"; }), plain);
}

TEST(selection, skew_tells_equal_uneven_and_sparse_blocks_apart) {
  shape s = equal_blocks(16, 100);
  EXPECT_EQ(skew_of(s), 0);
  s.uniform = false;
  EXPECT_EQ(skew_of(s), 1);
  s.max_block_bytes = s.max_rank_bytes;
  EXPECT_EQ(skew_of(s), 2);
}

TEST(selection, the_first_rule_that_fits_and_serves_is_followed) {
  profile p;
  p.rules = {{.algorithm = "zero_copy_bruck", .site = "solve"},
             {.algorithm = "in_place"},  // serves another kind of exchange
             {.algorithm = "pairwise",
              .kind = exchange::form::alltoallv,
              .reused = true,
              .ranks = 8,
              .least_bytes = 800,
              .most_bytes = 8000},
             {.algorithm = "spread_out", .nodes = 3}};
  const shape s = equal_blocks(8, 500);
  EXPECT_EQ(chosen(s, unlimited, p), "pairwise");
  EXPECT_EQ(ruled(s, any, false, unlimited, p), nullptr) << "for plans";
  EXPECT_EQ(ruled(equal_blocks(9, 500), any, true, unlimited, p), nullptr) << "for 8 ranks";
  EXPECT_EQ(ruled(equal_blocks(8, 50), any, true, unlimited, p), nullptr) << "for more bytes";
  EXPECT_EQ(ruled(equal_blocks(8, 5000), any, true, unlimited, p), nullptr) << "for fewer bytes";
  EXPECT_EQ(ruled(s, any, true, 10, p), nullptr) << "does not fit the memory";
  EXPECT_EQ(ruled(s, {}, true, unlimited, p), nullptr) << "needs its rank between its rounds";
  shape far = equal_blocks(9, 500);
  far.nodes = 3;
  EXPECT_EQ(chosen(far, unlimited, p), "spread_out");
  EXPECT_EQ(ruled(far, {}, true, unlimited, p)->name, "spread_out");
}

TEST(selection, choices_are_remembered_by_sizes_to_a_quarter_of_an_octave) {
  const auto key = [](const shape& s, std::size_t limit = unlimited, const options& o = {}) {
    return choice_key(s, o, true, limit);
  };
  const shape s = equal_blocks(8, 100000);
  EXPECT_EQ(key(s), key(equal_blocks(8, 101000)));
  EXPECT_NE(key(s), key(equal_blocks(8, 140000)));
  EXPECT_NE(key(equal_blocks(8, 0)), key(equal_blocks(8, 1)));
  EXPECT_NE(key(s), choice_key(s, {}, false, unlimited));
  EXPECT_NE(key(s), key(s, 1000));
  EXPECT_NE(key(s), key(s, unlimited, {.bruck = {.radix = 3}}));
  EXPECT_NE(key(s), key(s, unlimited, {.two_phase = {.inner = "pairwise"}}));
  shape other = s;
  other.uniform = false;
  EXPECT_NE(key(s), key(other));
}

}  // namespace
}  // namespace taquin::detail
