// The places of a rank by a sparse exchange, by messages and on nodes, whatever the number of ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/memory_budget.hpp"
#include "call/call.hpp"
#include "mpi/progress_record.hpp"
#include "redistribute/choices.hpp"
#include "redistribute/learn_sources.hpp"
#include "redistribute/problems.hpp"
#include "support/world.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {
namespace {

using outcome = target_exchange::outcome;
using test::at;

class target_exchanges : public testing::Test {
 protected:
  target_exchanges() : rank(test::rank_in(MPI_COMM_WORLD)), ranks(test::size_of(MPI_COMM_WORLD)) {
    running.set_up(MPI_COMM_WORLD);
  }

  // Requests the targets of a map, and keeps them.
  outcome ask(const test::block_problem& all, std::size_t memory, bool valid = true) {
    const test::rank_map& mine = all[at(rank)];
    data.assign(at(mine.blocks), 0);
    store units(data.data(), mine.blocks, 1, element::of(MPI_INT), 3, &budget);
    block_map map(units, &budget);
    for (int k = 0; k < mine.blocks; ++k)
      if (mine.ranks[at(k)] >= 0)
        map.set(static_cast<slot>(k), {mine.ranks[at(k)], static_cast<slot>(mine.indices[at(k)])});
    const machine m{.memory = &budget, .rank = rank, .ranks = ranks, .map = &map, .sizes = {}};
    learnt.emplace(&budget);
    target_exchange x{running, options, memory};
    const outcome found = running.stage([&] { return x(m, *learnt, valid, budget); });
    EXPECT_EQ(learnt->learnt, found == outcome::learnt);
    if (found == outcome::learnt) {
      EXPECT_LE(x.done.peak_memory, memory);
      EXPECT_GE(x.peak, budget.used());
    }
    return found;
  }

  // By source, and in the order in which the source has its blocks.
  void expect_targets(const test::block_problem& all) {
    std::vector<std::uint32_t> in_at{0};
    std::vector<slot> index;
    for (int from = 0; from < ranks; ++from) {
      const test::rank_map& m = all[at(from)];
      for (int k = 0; k < m.blocks; ++k)
        if (m.ranks[at(k)] == rank) index.push_back(static_cast<slot>(m.indices[at(k)]));
      in_at.push_back(static_cast<std::uint32_t>(index.size()));
    }
    EXPECT_TRUE(std::ranges::equal(learnt->in_at, in_at));
    for (std::size_t k = 0; k < index.size(); ++k) {
      const need n(learnt->place[index[k]]);
      const int source = learnt->source_of(static_cast<std::uint32_t>(k));
      EXPECT_EQ(n.what(), source == rank ? need::kind::here : need::kind::elsewhere);
      EXPECT_EQ(n.number(), source == rank ? learnt->order[learnt->out_at[at(rank)] + k - in_at[at(rank)]] : k);
    }
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(learnt->place, need::none)),
              learnt->place.size() - index.size());
    const test::rank_map& mine = all[at(rank)];
    std::vector<std::uint32_t> out_at{0};
    std::vector<slot> order;
    for (int to = 0; to < ranks; ++to) {
      for (int k = 0; k < mine.blocks; ++k)
        if (mine.ranks[at(k)] == to) order.push_back(static_cast<slot>(k));
      out_at.push_back(static_cast<std::uint32_t>(order.size()));
    }
    EXPECT_TRUE(std::ranges::equal(learnt->out_at, out_at));
    EXPECT_TRUE(std::ranges::equal(learnt->order, order));
  }

  int rank, ranks;
  call running{mpi::progress_record::of(mpi::call_kind::redistribution), call_timeout{}, nullptr};
  redistribute_options options;
  memory_budget budget;
  std::vector<int> data;
  std::optional<targets> learnt;
};

constexpr std::size_t enough = 1 << 20;

TEST_F(target_exchanges, bring_the_places_of_all_blocks_in_order) {
  for (const int blocks : {0, 1, 10, 3000})
    for (const int live : {30, 100}) {
      const auto all = test::random_problem(std::vector<int>(at(ranks), blocks), live, 9);
      ASSERT_EQ(ask(all, enough), outcome::learnt);
      expect_targets(all);
    }
  std::vector<int> sizes(at(ranks), 40);
  sizes.front() = 0;
  const auto all = test::random_problem(sizes, 100, 10);
  ASSERT_EQ(ask(all, enough), outcome::learnt);
  expect_targets(all);
  ASSERT_EQ(ask(test::shift_problem(ranks, 50, 50), enough), outcome::learnt);
  expect_targets(test::shift_problem(ranks, 50, 50));
}

// Down to the least memory all ranks find consistently whether it suffices.
TEST_F(target_exchanges, lack_memory_on_all_ranks_alike) {
  if (ranks == 1) GTEST_SKIP() << "nobody is asked";
  const auto all = test::random_problem(std::vector<int>(at(ranks), 200), 100, 11);
  bool lacked = false;
  bool sufficed = false;
  for (std::size_t memory = 1; memory <= enough; memory *= 2) {
    const outcome found = ask(all, memory);
    ASSERT_TRUE(found == outcome::learnt || found == outcome::lacking) << "with " << memory;
    ASSERT_EQ(test::any_rank(found == outcome::learnt), !test::any_rank(found != outcome::learnt));
    if (found == outcome::learnt) expect_targets(all);
    (found == outcome::learnt ? sufficed : lacked) = true;
  }
  EXPECT_TRUE(lacked && sufficed);
}

TEST_F(target_exchanges, are_refused_on_all_ranks_where_one_map_is_invalid) {
  const auto all = test::shift_problem(ranks, 50, 50);
  for (int bad = 0; bad < ranks; ++bad) {
    EXPECT_EQ(ask(all, enough, rank != bad), outcome::refused);
    EXPECT_EQ(ask(all, enough), outcome::learnt);
    expect_targets(all);
  }
}

TEST_F(target_exchanges, fail_only_where_more_blocks_come_than_there_are_places) {
  if (ranks == 1) GTEST_SKIP() << "a rank has no more blocks than places";
  for (const int blocks : {2, 300, 6000}) {
    auto all = test::shift_problem(ranks, blocks, blocks);
    for (auto& m : all) std::ranges::fill(m.ranks, 0);
    all.back().ranks.back() = ranks - 1;
    EXPECT_EQ(ask(all, enough), rank == 0 ? outcome::not_here : outcome::learnt);
    if (rank != 0) expect_targets(all);
  }
}

}  // namespace
}  // namespace taquin::detail
