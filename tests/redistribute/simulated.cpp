// Every redistribution algorithm, all ranks in one process, against what must be where.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "redistribute/simulated_run.hpp"

namespace taquin::detail {
namespace {

using test::block_problem;

struct outcome {
  std::vector<std::vector<std::uint64_t>> data;
  std::uint64_t rounds = 0;        // most of any rank
  std::uint64_t bytes_copied = 0;  // most of any rank
};

outcome run(const redistribution_algorithm& a, const block_problem& all, unsigned seed, slot chunk = 0,
            double progress = 0, const redistribution_algorithm& successor = *find_redistribution("slots"),
            readers who = readers::nobody) {
  simulated_redistribution r(a, all, seed, chunk, progress, successor, who,
                             seed % 2 == 0 ? beginning::learning : beginning::at_once);
  r.network.run(r.tasks);
  const std::size_t p = all.size();
  auto& ranks = r.ranks;
  const buffer_sizes& sizes = r.sizes;
  outcome o;
  for (std::size_t rank = 0; rank < p; ++rank) {
    o.rounds = std::max(o.rounds, ranks[rank].m.rounds);
    o.bytes_copied = std::max(o.bytes_copied, ranks[rank].units->bytes_copied());
    o.data.push_back(std::move(ranks[rank].data));
    const auto needs = [&](const redistribution_algorithm& x) {
      return redistribution_footprint(x, sizes, static_cast<int>(p), static_cast<std::size_t>(all[rank].blocks), 8);
    };
    const std::size_t allowed = std::max(needs(a), progress > 0 ? needs(successor) : 0);
    EXPECT_LE(ranks[rank].budget.peak(), allowed) << a.name << " rank " << rank;
  }
  return o;
}

// Empty when all is where it must be.
std::string difference(const block_problem& all, const outcome& o) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto want = test::expected(all, static_cast<int>(r));
    for (std::size_t k = 0; k < want.size(); ++k)
      if (want[k] != 0 && o.data[r][k] != want[k]) return "rank " + std::to_string(r) + " index " + std::to_string(k);
  }
  return {};
}

class every_algorithm : public testing::TestWithParam<const redistribution_algorithm*> {
 protected:
  void check(const block_problem& all, slot chunk = 0) {
    EXPECT_EQ(difference(all, run(*GetParam(), all, 1, chunk)), "") << GetParam()->name;
    const auto& slots = *find_redistribution("slots");
    for (const readers who : {readers::all, readers::of_nodes})
      EXPECT_EQ(difference(all, run(*GetParam(), all, 1, chunk, 0, slots, who)), "")
          << GetParam()->name << " by reading, " << static_cast<int>(who);
  }
};

TEST_P(every_algorithm, finishes_one_cycle_through_all_ranks) {
  for (const int p : {1, 2, 3, 8, 17, 64})
    for (const int blocks : {1, 2, 9}) check(test::one_cycle(p, blocks));
}

TEST_P(every_algorithm, finishes_the_papers_experiments) {
  for (const int p : {2, 3, 8, 16}) {
    check(test::shift_problem(p, 20, 20));
    check(test::shift_problem(p, 20, 16));
    check(test::shift_problem(p, 20, 10), 3);
    check(test::one_empty_problem(p, 20));
    check(test::transpose_problem(p, 20, 16), 2);
  }
}

TEST_P(every_algorithm, finishes_for_every_number_of_ranks_up_to_64) {
  for (int p = 1; p <= 64; p += p < 10 ? 1 : 9)
    for (const int live : {60, 100})
      check(test::random_problem(std::vector<int>(static_cast<std::size_t>(p), 6), live, static_cast<unsigned>(p)), 2);
}

// Section 2.2 of the paper: the number of actions and edges in a message is a parameter. A rank with n edges then sends
// ⌈(n + 1)/k⌉ messages of k edges, with the one that says that there are no more; nothing else changes.
TEST(cyclic, sends_as_many_edges_in_a_message_as_its_parameter_says_and_makes_the_same_schedule) {
  const auto& cyclic = *find_redistribution("cyclic");
  for (const int p : {2, 5, 8, 16}) {
    const block_problem all = test::transpose_problem(p, 20, 16);
    const auto with = [&](std::uint32_t edges, std::uint32_t actions) {
      auto r = std::make_unique<simulated_redistribution>(cyclic, all, 7, 2, 0, cyclic, readers::nobody);
      for (simulated_rank& s : r->ranks) s.m.sizes.edges = edges, s.m.sizes.actions = actions;
      r->network.run(r->tasks);
      return r;
    };
    const auto one = with(1, 1);
    std::uint64_t before = one->network.counts(0).messages;
    for (const std::uint32_t edges : {1U, 2U, 3U, buffer_sizes::most_edges}) {
      const auto several = with(edges, std::min(edges, buffer_sizes::most_actions));
      for (std::size_t r = 0; r < all.size(); ++r) {
        EXPECT_EQ(several->ranks[r].data, one->ranks[r].data);
        EXPECT_EQ(several->ranks[r].m.rounds, one->ranks[r].m.rounds);
        EXPECT_EQ(several->network.counts(r).units_sent, one->network.counts(r).units_sent);
        std::set<int> to(all[r].ranks.begin(), all[r].ranks.end());
        to.erase(-1);
        to.erase(static_cast<int>(r));
        const auto announced = to.size() + 1;
        if (r > 0) {
          EXPECT_EQ(one->network.counts(r).messages - several->network.counts(r).messages,
                    announced - (announced + edges - 1) / edges)
              << p << " ranks, " << edges << " edges";
        }
      }
      const std::uint64_t now = several->network.counts(0).messages;
      EXPECT_LE(now, before) << "of the root";
      before = now;
    }
    EXPECT_TRUE(p == 2 || before < one->network.counts(0).messages) << "of the root";
  }
}

RC_GTEST_PROP(redistribution_property, any_map_by_any_algorithm, ()) {
  const auto sizes =
      *rc::gen::resize(64, rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 14))));
  const int live = *rc::gen::elementOf(std::vector<int>{0, 30, 70, 90, 99, 100, 100});
  const auto seed = *rc::gen::inRange(0U, 1000U);
  const auto chunk = *rc::gen::inRange(1U, 5U);
  const double progress = *rc::gen::elementOf(std::vector<double>{0, 0, 0.2, 0.9});
  const std::vector<const redistribution_algorithm*> known(redistributions().begin(), redistributions().end());
  const auto* a = *rc::gen::elementOf(known);
  const auto* successor = *rc::gen::elementOf(known);
  const block_problem all = test::random_problem(sizes, live, seed);
  RC_TAG(a->name);
  const auto reads = *rc::gen::element(readers::nobody, readers::all, readers::of_nodes);
  RC_ASSERT(difference(all, run(*a, all, seed + 1, chunk, progress, *successor, reads)).empty());
}

// Ranks have few blocks, for few ranks: all of those are pushed. Where a place is wanted twice nothing changes.
RC_GTEST_PROP(redistribution_property, pushed_blocks_are_where_they_belong_or_nothing_has_changed, ()) {
  const auto sizes =
      *rc::gen::resize(12, rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 7))));
  const int live = *rc::gen::elementOf(std::vector<int>{0, 30, 70, 100});
  const auto seed = *rc::gen::inRange(0U, 1000U);
  const auto chunk = *rc::gen::inRange(0U, 5U);
  block_problem all = test::random_problem(sizes, live, seed);
  const auto& slots = *find_redistribution("slots");
  simulated_redistribution r(slots, all, seed, chunk, 0, slots, readers::nobody, beginning::pushing);
  const bool suits = pushed_blocks::suit(r.blocks, r.sizes);
  r.network.run(r.tasks);
  RC_TAG(suits ? "pushed" : "asked for");
  outcome o;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    RC_ASSERT(r.ranks[rank].pushed == suits);
    const auto blocks = static_cast<std::size_t>(all[rank].blocks);
    RC_ASSERT(r.ranks[rank].budget.peak() <=
              redistribution_footprint(slots, r.sizes, static_cast<int>(all.size()), blocks, 8));
    o.data.push_back(r.ranks[rank].data);
  }
  RC_ASSERT(difference(all, o).empty());
}

// One task for all ranks, so that the result of pushing can be examined before the general path.
TEST(pushed_blocks, change_nothing_where_a_map_is_invalid_or_places_are_wanted_twice) {
  for (const int wrong : {0, 1, 2, 3})
    for (unsigned seed = 0; seed < 40; ++seed) {
      block_problem all = test::shift_problem(4, 6, 6);
      if (wrong == 1) all[2].indices[3] = all[2].indices[1];  // a place is wanted twice
      for (int k = 0; wrong == 2 && k < 6; ++k) {             // all ranks send to rank 0
        all[1].ranks[static_cast<std::size_t>(k)] = 0;
        all[3].ranks[static_cast<std::size_t>(k)] = 0;
      }
      const auto& slots = *find_redistribution("slots");
      simulated_redistribution r(slots, all, seed, 2, 0, slots, readers::nobody, beginning::pushing);
      ASSERT_TRUE(pushed_blocks::suit(r.blocks, r.sizes));
      r.tasks.clear();
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        simulated_rank& s = r.ranks[rank];
        r.tasks.push_back(pushed_blocks::run(s.m, *s.known, r.blocks, wrong != 3 || rank != 1, s.pushed));
      }
      r.network.run(r.tasks);
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const simulated_rank& s = r.ranks[rank];
        ASSERT_EQ(s.pushed, wrong == 0) << wrong << " rank " << rank;
        for (slot k = 0; k < s.map->slots() && wrong != 0; ++k) {
          if (k >= 6) {
            ASSERT_TRUE(s.map->free(k));
            continue;
          }
          ASSERT_EQ((*s.map)[k].rank, all[rank].ranks[k]);
          ASSERT_EQ(s.data[k], test::identity(static_cast<int>(rank), static_cast<int>(k)));
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(redistribution, every_algorithm,
                         testing::ValuesIn(redistributions().begin(), redistributions().end()),
                         [](const auto& i) { return std::string(i.param->name); });

// The formula of the documentation, and that at its limit there are buffers.
TEST(footprint, is_within_its_formula_without_a_limit_at_the_least_and_at_every_limit) {
  for (const auto* a : redistributions())
    for (const int p : {1, 2, 64, 1000, 4096})
      for (const std::size_t l : {0UL, 1UL, 8UL, 56UL, 4096UL, 16384UL, 16385UL, 1UL << 20U, 64UL << 20U})
        for (const std::size_t m : {0UL, 1UL, 4UL, 300UL, 100000UL, 10000000UL})
          for (const std::size_t least_blocks : {m, m / 3}) {
            SCOPED_TRACE(testing::Message() << a->name << " p " << p << " l " << l << " m " << m);
            const redistribution_problem problem{a, p, 0, l, l, false, least_blocks, m};
            const auto needs = [&](const buffer_choice& c) {
              return redistribution_footprint(*a, c.sizes, p, m * c.parts, l / c.parts);
            };
            const auto formula = [&](std::size_t parts, std::size_t buffers) {
              return redistribution_tables(static_cast<std::size_t>(p), m * parts) + buffers;
            };
            const std::size_t least = least_memory(problem);
            for (std::size_t parts = 1; parts == 1 || l / parts >= least_part; parts *= 2)
              if (l % parts == 0) {
                EXPECT_LE(least, formula(parts, least_buffers(l, parts))) << parts << " parts";
              }
            EXPECT_FALSE(choose_buffers(problem, least - 1));
            for (const std::size_t limit : {least, least + 1, 2 * least, 10 * least}) {
              const auto c = choose_buffers(problem, limit);
              ASSERT_TRUE(c);
              EXPECT_EQ(l % c->parts, 0U);
              EXPECT_LE(needs(*c), limit);
            }
            const auto c = choose_buffers(problem, unlimited);
            ASSERT_TRUE(c);
            const auto usual = choose_buffers(problem, usual_memory(problem));
            ASSERT_TRUE(usual);
            EXPECT_EQ(usual->parts, c->parts);
            EXPECT_EQ(usual->sizes.staging_slots(), c->sizes.staging_slots());
            EXPECT_LE(needs(*c), formula(c->parts, default_buffers(m, l)));
          }
}

// Indices in any order become the numbers of places in the memory where they are.
TEST(targets, number_each_place_and_find_one_that_is_wanted_twice) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto blocks = static_cast<slot>(1 + random() % 12);
    store units(nullptr, blocks, 1, element::bytes(8), 3, std::pmr::new_delete_resource(), true);
    const block_map map(units, std::pmr::new_delete_resource());
    std::vector<slot> index(blocks);
    std::iota(index.begin(), index.end(), 0U);
    std::ranges::shuffle(index, random);
    index.resize(1 + random() % blocks);
    const bool twice = index.size() > 1 && random() % 2 == 0;
    if (twice) index.back() = index.front();
    targets t(std::pmr::new_delete_resource());
    t.in_at = {0, 0, static_cast<std::uint32_t>(index.size())};
    t.out_at = {0, 0, 0};
    t.place.assign(map.slots(), need::none);
    std::ranges::copy(index, t.place.begin());
    t.number_places(map, 0);
    ASSERT_EQ(t.wanted_twice.has_value(), twice);
    if (twice) {
      ASSERT_EQ(t.wanted_twice->place, index.front());
      std::ranges::sort(t.wanted_twice->number);
      ASSERT_EQ(t.wanted_twice->number,
                (std::array<std::uint32_t, 2>{0, static_cast<std::uint32_t>(index.size()) - 1}));
      continue;
    }
    for (slot x = 0; x < map.slots(); ++x) {
      const auto found = std::ranges::find(index, x);
      ASSERT_EQ(t.source_at(x), found == index.end() ? -1 : 1);
      if (found == index.end()) {
        ASSERT_EQ(t.place[x], need::none);
      } else {
        ASSERT_EQ(t.place[x], need::make(need::kind::elsewhere, static_cast<word>(found - index.begin())));
      }
    }
  }
}

TEST(local_sort, sorts_by_rank_and_copies_each_block_at_most_once_beside_one_per_cycle) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto n = static_cast<slot>(1 + random() % 50);
    std::vector<std::uint64_t> data(n);
    store units(data.data(), n, 1, element::bytes(8), 1, std::pmr::new_delete_resource());
    block_map map(units, std::pmr::new_delete_resource());
    slot live = 0;
    for (slot s = 0; s < n; ++s) {
      const int rank = static_cast<int>(random() % 5) - 1;
      data[s] = (static_cast<std::uint64_t>(rank + 1) << 32U) + s;
      if (rank >= 0) map.set(s, {rank, s}), ++live;
    }
    map.sort(4, n, std::pmr::new_delete_resource());
    for (slot s = 0; s < n; ++s) {
      ASSERT_EQ(map.free(s), s >= live);
      if (s >= live) continue;
      ASSERT_EQ(data[s] >> 32U, static_cast<std::uint64_t>(map[s].rank + 1));
      ASSERT_EQ(static_cast<slot>(data[s]), map[s].index);
      if (s > 0) {
        ASSERT_LT(data[s - 1], data[s]);
      }
    }
    // A closed cycle has at least two blocks.
    ASSERT_LE(units.bytes_copied(), 8U * (live + live / 2));
  }
}

TEST(switching, a_slow_phase_hands_over_and_the_rest_is_done_by_slots) {
  const block_problem all = test::shift_problem(8, 60, 59);
  const auto slow = run(*find_redistribution("parking"), all, 1);
  const auto quick = run(*find_redistribution("parking"), all, 1, 0, 0.1);
  EXPECT_EQ(difference(all, quick), "");
  EXPECT_LT(quick.bytes_copied * 4, slow.bytes_copied);
}

// Whatever the phases have left: blocks at home, parked, and one in the extra slot.
TEST(switching, every_algorithm_goes_on_where_phases_have_stopped) {
  for (const char* first : {"basic_phases", "parking"})
    for (const auto* second : redistributions())
      for (const double progress : {0.05, 0.3, 1.0})
        for (const block_problem& all :
             {test::shift_problem(6, 30, 29), test::shift_problem(5, 12, 12), test::one_cycle(4, 9),
              test::transpose_problem(7, 20, 18), test::random_problem({12, 0, 25, 7, 31}, 96, 4)}) {
          const auto done = run(*find_redistribution(first), all, 5, 2, progress, *second);
          EXPECT_EQ(difference(all, done), "") << first << " then " << second->name << " at " << progress;
        }
}

// Rank 0 has blocks for all others, in runs that need no packing: more requests arrive than it may answer at a time.
TEST(limits, hold_where_many_ranks_ask_one) {
  constexpr int p = 24;
  constexpr int part = 400;
  block_problem all(p);
  for (int r = 0; r < p; ++r) {
    auto& m = all[static_cast<std::size_t>(r)];
    m.blocks = r == 0 ? part * p : part;
    m.ranks.assign(static_cast<std::size_t>(m.blocks), -1);
    m.indices.assign(static_cast<std::size_t>(m.blocks), 0);
    for (int k = 0; r == 0 && k < m.blocks; ++k) {
      m.ranks[static_cast<std::size_t>(k)] = k / part;
      m.indices[static_cast<std::size_t>(k)] = k % part;
    }
  }
  for (const auto* a : redistributions()) EXPECT_EQ(difference(all, run(*a, all, 7, 4)), "") << a->name;
}

TEST(switching, basic_phases_that_are_stuck_go_on_as_parking) {
  const block_problem all = test::one_cycle(5, 4);
  EXPECT_EQ(difference(all, run(*find_redistribution("basic_phases"), all, 3)), "");
}

}  // namespace
}  // namespace taquin::detail
