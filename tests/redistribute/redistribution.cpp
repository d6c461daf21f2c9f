#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "mpi/communicator.hpp"
#include "redistribute/footprint.hpp"
#include "redistribute/problems.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"
#include "taquin/plan.hpp"
#include "taquin/redistribute.hpp"
#include "taquin/taquin.h"

namespace taquin {
namespace {

using test::block_problem;

class redistribute_blocks : public testing::Test {
 protected:
  redistribute_blocks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }

  [[nodiscard]] const test::rank_map& mine(const block_problem& all) const {
    return all[static_cast<std::size_t>(rank)];
  }

  // Blocks of `words` 64-bit words that all contain the block's identity.
  void check(const block_problem& all, std::size_t words, const redistribute_options& o) {
    const auto& map = mine(all);
    std::vector<std::uint64_t> data(static_cast<std::size_t>(map.blocks) * words + 2, 0xabababab);
    redistribution redistribute(data.data() + 1, map.blocks, static_cast<count_t>(words), MPI_UINT64_T, MPI_COMM_WORLD,
                                o);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int k = 0; k < map.blocks; ++k)
        for (std::size_t w = 0; w < words; ++w)
          data[1 + static_cast<std::size_t>(k) * words + w] = test::identity(rank, k) + w;
      redistribute(map.ranks, map.indices);
      const auto want = test::expected(all, rank);
      for (std::size_t k = 0; k < want.size(); ++k)
        for (std::size_t w = 0; want[k] != 0 && w < words; ++w)
          ASSERT_EQ(data[1 + k * words + w], want[k] + w) << o.algorithm << " rank " << rank << " block " << k;
      ASSERT_EQ(data.front(), 0xabababab);
      ASSERT_EQ(data.back(), 0xabababab);
    }
  }

  void check_with_all(const block_problem& all, std::size_t words) {
    for (const auto* a : detail::redistributions()) check(all, words, {.algorithm = a->name});
  }

  // Many ranks have few blocks each: on few cores each phase takes its time.
  [[nodiscard]] int some(int blocks) const { return ranks > 5 ? blocks / 3 : blocks; }
  [[nodiscard]] std::vector<int> sizes(int n) const {
    std::vector<int> s;
    for (int r = 0; r < ranks; ++r) s.push_back(r == 1 ? 0 : some(n + 3 * r));
    return s;
  }

  int rank = 0;
  int ranks = 1;
};

TEST_F(redistribute_blocks, random_maps_with_dead_blocks_on_uneven_ranks) {
  for (const int live : {0, 50, 95})
    for (unsigned seed = 0; seed < 2; ++seed) check_with_all(test::random_problem(sizes(24), live, seed), 3);
}

TEST_F(redistribute_blocks, permutations_without_a_free_block) {
  for (unsigned seed = 0; seed < 2; ++seed) check_with_all(test::random_problem(sizes(12), 100, seed), 2);
}

TEST_F(redistribute_blocks, one_cycle_through_all_ranks) { check_with_all(test::one_cycle(ranks, some(10)), 1); }

TEST_F(redistribute_blocks, the_papers_experiments) {
  check_with_all(test::shift_problem(ranks, some(30), some(30)), 16);
  check_with_all(test::shift_problem(ranks, some(30), some(24)), 16);
  check_with_all(test::one_empty_problem(ranks, some(30)), 16);
  check_with_all(test::transpose_problem(ranks, some(30), some(24)), 16);
}

// On one node these are read out of their owners' arrays.
TEST_F(redistribute_blocks, of_many_bytes_by_every_algorithm) {
  constexpr std::size_t words = 600;
  check_with_all(test::one_cycle(ranks, 5), words);
  check_with_all(test::shift_problem(ranks, 20, 20), words);
  for (const int live : {60, 95, 100})
    for (unsigned seed = 1; seed < 4; ++seed)
      check(test::random_problem(sizes(25), live, seed), words, {.algorithm = "slots"});
}

// Blocks of one rank have gaps: then no rank reads.
TEST_F(redistribute_blocks, of_many_bytes_with_holes_on_one_rank) {
  constexpr std::size_t words = 600;
  const block_problem all = test::shift_problem(ranks, 12, 12);
  const auto& map = mine(all);
  const std::size_t stride = rank == 0 ? 2 : 1;
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(words, 1, static_cast<int>(stride), MPI_UINT64_T, &spread);
  MPI_Type_create_resized(spread, 0, static_cast<MPI_Aint>(stride * words * sizeof(std::uint64_t)), &type);
  MPI_Type_commit(&type);
  std::vector<std::uint64_t> data(static_cast<std::size_t>(map.blocks) * words * stride, 0xabababab);
  for (int k = 0; k < map.blocks; ++k)
    for (std::size_t w = 0; w < words; ++w)
      data[(static_cast<std::size_t>(k) * words + w) * stride] = test::identity(rank, k) + w;
  redistribution(data.data(), map.blocks, 1, type, MPI_COMM_WORLD)(map.ranks, map.indices);
  const auto want = test::expected(all, rank);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t k = i / stride / words;
    const bool free_region = i % stride != 0;
    if (free_region || want[k] != 0) {
      ASSERT_EQ(data[i], free_region ? 0xabababab : want[k] + i / stride % words) << "word " << i;
    }
  }
  MPI_Type_free(&spread);
  MPI_Type_free(&type);
}

// Two concurrent ones and a plan between them, polled alternately and in other orders on other ranks.
TEST_F(redistribute_blocks, several_are_under_way_at_once) {
  const auto all = test::random_problem(std::vector<int>(static_cast<std::size_t>(ranks), 200), 90, 21);
  const auto& map = mine(all);
  const auto want = test::expected(all, rank);
  for (const auto* a : detail::redistributions()) {
    std::array<std::vector<std::uint64_t>, 2> data;
    std::vector<redistribution> started;
    for (auto& d : data) {
      for (int k = 0; k < 200; ++k) d.push_back(test::identity(rank, k));
      started.emplace_back(d.data(), 200, 1, MPI_UINT64_T, MPI_COMM_WORLD, redistribute_options{.algorithm = a->name});
    }
    std::vector<int> sent(static_cast<std::size_t>(ranks), rank);
    std::vector<int> got(sent.size(), -1);
    plan exchanged(exchange::alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, MPI_COMM_WORLD));
    started[0].start(map.ranks, map.indices);
    exchanged.start();
    started[1].start(map.ranks, map.indices);
    EXPECT_THROW(started[1].start(map.ranks, map.indices), usage_error);
    bool done = false;
    while (!done) {
      const bool first = started[static_cast<std::size_t>(rank % 2)].test();
      const bool plan_done = exchanged.test();
      const bool second = started[static_cast<std::size_t>(1 - rank % 2)].test();
      done = first && second && plan_done;
    }
    EXPECT_TRUE(started[0].test());
    started[0].wait();
    for (const auto& d : data)
      for (std::size_t k = 0; k < want.size(); ++k)
        if (want[k] != 0) {
          ASSERT_EQ(d[k], want[k]) << a->name << " block " << k;
        }
    for (int r = 0; r < ranks; ++r) EXPECT_EQ(got[static_cast<std::size_t>(r)], r);
  }
}

// More calls than there are sets of tags for calls, and communicators of nodes, which Open MPI makes by messages.
TEST_F(redistribute_blocks, stay_their_own_whatever_is_called_meanwhile) {
  constexpr int calls = mpi::communicator::tag_sets_of_calls + 3;
  const auto all = test::random_problem(std::vector<int>(static_cast<std::size_t>(ranks), 60), 90, 22);
  const auto& map = mine(all);
  const auto want = test::expected(all, rank);
  for (const auto* a : detail::redistributions()) {
    const test::scoped_comm comm(test::duplicate(MPI_COMM_WORLD));
    std::vector<std::uint64_t> data;
    for (int k = 0; k < 60; ++k) data.push_back(test::identity(rank, k));
    redistribution r(data.data(), 60, 1, MPI_UINT64_T, comm.get(), {.algorithm = a->name});
    r.start(map.ranks, map.indices);
    std::vector<int> sent(static_cast<std::size_t>(ranks), rank);
    std::vector<int> got(sent.size(), -1);
    const exchange x = exchange::alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm.get());
    std::vector<int> nodes(1, 1);
    if (ranks > 1) nodes.push_back(ranks - 1);
    for (int call = 0; call < calls; ++call) {
      run(x, {.algorithm = call % 2 == 0 ? "spread_out" : "pairwise"});
      for (int from = 0; from < ranks; ++from) ASSERT_EQ(got[static_cast<std::size_t>(from)], from) << "call " << call;
      if (call % 8 == 0) static_cast<void>(r.test());
    }
    run(x, {.algorithm = "node_aggregated", .nodes = nodes});
    r.wait();
    for (std::size_t k = 0; k < want.size(); ++k)
      if (want[k] != 0) {
        ASSERT_EQ(data[k], want[k]) << a->name << " block " << k;
      }
  }
}

TEST_F(redistribute_blocks, a_bad_map_is_reported_by_the_wait_and_the_next_start_is_good) {
  std::vector<int> data{rank};
  const std::vector<int> to{(rank + 1) % ranks};
  const std::vector<int> index{0};
  redistribution r(data.data(), 1, 1, MPI_INT, MPI_COMM_WORLD);
  const std::vector<int> bad{rank == 0 ? 7 : 0};
  r.start(to, bad);
  EXPECT_THROW(r.wait(), usage_error);
  EXPECT_EQ(data[0], rank);
  r.start(to, index);
  while (!r.test()) {
  }
  EXPECT_EQ(data[0], (rank + ranks - 1) % ranks);
}

TEST_F(redistribute_blocks, outlives_its_communicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<int> data{rank};
  redistribution r(data.data(), 1, 1, MPI_INT, comm);
  MPI_Comm_free(&comm);
  r(std::vector<int>{(rank + 1) % ranks}, std::vector<int>{0});
  EXPECT_EQ(data[0], (rank + ranks - 1) % ranks);
}

TEST_F(redistribute_blocks, is_started_tested_and_waited_for_in_c) {
  std::vector<int> data{rank};
  const int to = (rank + 1) % ranks;
  const int index = 0;
  TAQUIN_Redistribution r = TAQUIN_REDISTRIBUTION_NULL;
  ASSERT_EQ(TAQUIN_Redistribution_create(data.data(), 1, 1, MPI_INT, MPI_COMM_WORLD, nullptr, TAQUIN_UNLIMITED, &r),
            MPI_SUCCESS);
  ASSERT_EQ(TAQUIN_Redistribution_start(r, 1, &to, &index), MPI_SUCCESS);
  int done = 0;
  while (done == 0) ASSERT_EQ(TAQUIN_Redistribution_test(r, &done), MPI_SUCCESS);
  EXPECT_EQ(data[0], (rank + ranks - 1) % ranks);
  ASSERT_EQ(TAQUIN_Redistribution_start(r, 1, &to, &index), MPI_SUCCESS);
  ASSERT_EQ(TAQUIN_Redistribution_wait(r), MPI_SUCCESS);
  EXPECT_EQ(data[0], (rank + 2 * ranks - 2) % ranks);
  ASSERT_EQ(TAQUIN_Redistribution_free(&r), MPI_SUCCESS);
}

}  // namespace
}  // namespace taquin
