// Redistributions of few blocks that go in two steps of a node's memory.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <numeric>
#include <random>
#include <vector>

#include "redistribute/problems.hpp"
#include "support/named_memory.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin {
namespace {

using test::block_problem;

constexpr std::uint64_t guard = 0xabababab;

class node_steps_of_blocks : public testing::Test {
 protected:
  node_steps_of_blocks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }

  // Blocks of `words` words with their identity, between guards.
  struct array {
    array(int rank_, int blocks_, std::size_t words_,
          std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
        : rank(rank_),
          blocks(blocks_),
          words(words_),
          data(static_cast<std::size_t>(blocks_) * words_ + 2, guard, memory) {
      fill();
    }
    void fill() {
      for (int k = 0; k < blocks; ++k)
        for (std::size_t w = 0; w < words; ++w) at(k, w) = test::identity(rank, k) + (w << 40U);
    }
    std::uint64_t& at(int k, std::size_t w) { return data[1 + static_cast<std::size_t>(k) * words + w]; }
    void expect(const std::vector<std::uint64_t>& want) {
      for (int k = 0; k < blocks; ++k)
        for (std::size_t w = 0; want[static_cast<std::size_t>(k)] != 0 && w < words; ++w)
          ASSERT_EQ(at(k, w), want[static_cast<std::size_t>(k)] + (w << 40U)) << "rank " << rank << " block " << k;
      ASSERT_EQ(data.front(), guard);
      ASSERT_EQ(data.back(), guard);
    }
    void expect_as_before() {
      for (int k = 0; k < blocks; ++k)
        for (std::size_t w = 0; w < words; ++w) ASSERT_EQ(at(k, w), test::identity(rank, k) + (w << 40U));
    }
    int rank;
    int blocks;
    std::size_t words;
    std::pmr::vector<std::uint64_t> data;
  };

  [[nodiscard]] redistribution object(array& a, redistribute_options o = {}) const {
    return {a.data.data() + 1, a.blocks, static_cast<count_t>(a.words), MPI_UINT64_T, MPI_COMM_WORLD, o};
  }

  void check(const block_problem& all, std::size_t words,
             std::pmr::memory_resource* memory = std::pmr::new_delete_resource()) {
    const auto& map = all[static_cast<std::size_t>(rank)];
    array a(rank, map.blocks, words, memory);
    statistics s;
    redistribution redistribute = object(a, {.stats = &s});
    for (std::uint64_t call = 1; call <= 3; ++call) {
      a.fill();
      redistribute(map.ranks, map.indices);
      a.expect(test::expected(all, rank));
      if (HasFatalFailure()) return;
      if (ranks > 1 && goes_in_steps(words)) {
        ASSERT_EQ(s.rounds, 2 * call) << "it did not go in two steps";
      }
    }
  }

  // Long blocks do not fit into rooms: they are read, unless that is off.
  static bool goes_in_steps(std::size_t words) {
    return words < 100 || std::getenv("TAQUIN_SINGLE_COPY") == nullptr;  // NOLINT(concurrency-mt-unsafe)
  }

  int rank = 0;
  int ranks = 1;
};

TEST_F(node_steps_of_blocks, move_by_any_map) {
  for (const std::size_t words : {1U, 3U, 8U, 40U})
    for (const int live : {0, 30, 100})
      for (unsigned seed = 0; seed < 4; ++seed) {
        std::vector<int> sizes(static_cast<std::size_t>(ranks));
        std::mt19937 random(seed);
        for (int& n : sizes) n = static_cast<int>(random() % 20);
        check(test::random_problem(sizes, live, seed), words);
        if (HasFatalFailure()) return;
      }
  check(test::one_cycle(ranks, 5), 2);
  check(test::one_empty_problem(ranks, 9), 2);
  check(test::transpose_problem(ranks, 2 * ranks, ranks), 3);
}

// Of 16 KiB: some ranks' blocks fit into their rooms, others' are read, into free places or staging.
TEST_F(node_steps_of_blocks, move_through_rooms_and_by_being_read) {
  constexpr std::size_t words = 2048;
  for (unsigned seed = 0; seed < 3; ++seed) {
    std::vector<int> sizes(static_cast<std::size_t>(ranks), 4);
    sizes.front() = 50;
    sizes.back() = 33;
    for (const int live : {60, 100}) check(test::random_problem(sizes, live, seed), words);
  }
  check(test::shift_problem(ranks, 55, 55), words);
  check(test::shift_problem(ranks, 55, 30), words, &shared_resource());
  check(test::one_cycle(ranks, 20), words, &shared_resource());
}

TEST_F(node_steps_of_blocks, with_holes_keep_what_is_between) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT64_T, 0, 24, &type);
  MPI_Type_commit(&type);
  const auto all = test::random_problem(std::vector<int>(static_cast<std::size_t>(ranks), 7), 100, 5);
  const auto& map = all[static_cast<std::size_t>(rank)];
  std::vector<std::array<std::uint64_t, 3>> data(7 * 2, {0, guard, guard});
  for (int k = 0; k < 7; ++k)
    for (std::size_t e = 0; e < 2; ++e)
      data[static_cast<std::size_t>(k) * 2 + e][0] = test::identity(rank, k) + (e << 40U);
  redistribution redistribute(data.data(), 7, 2, type, MPI_COMM_WORLD);
  redistribute(map.ranks, map.indices);
  const auto want = test::expected(all, rank);
  for (std::size_t k = 0; k < want.size(); ++k)
    for (std::size_t e = 0; e < 2; ++e) {
      EXPECT_EQ(data[k * 2 + e][0], want[k] + (e << 40U));
      EXPECT_EQ(data[k * 2 + e][1], guard);
    }
  MPI_Type_free(&type);
}

TEST_F(node_steps_of_blocks, stay_as_they_are_where_a_place_is_wanted_twice) {
  for (const std::size_t words : {2U, 2048U}) {
    array a(rank, 12, words);
    statistics s;
    redistribution redistribute = object(a, {.stats = &s});
    std::vector<int> to(12, (rank + 1) % ranks);
    std::vector<int> index(12);
    std::iota(index.begin(), index.end(), 0);
    if (rank == ranks - 1) index[3] = 7;
    try {
      redistribute(to, index);
      FAIL() << "no error";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective());
      EXPECT_NE(std::strstr(e.what(), "both go to index 7"), nullptr) << e.what();
    }
    a.expect_as_before();
    if (rank == ranks - 1) index[3] = 3;
    redistribute(to, index);
    EXPECT_EQ(s.algorithm == "node_steps", ranks > 1 && goes_in_steps(words)) << "after an error as before";
    EXPECT_EQ(a.at(5, 1), test::identity((rank + ranks - 1) % ranks, 5) + (std::uint64_t{1} << 40U));
  }
}

// The rank that sees the error reads nothing; the others must not have written over their dead blocks by then.
TEST_F(node_steps_of_blocks, stay_as_they_are_where_dead_blocks_would_be_replaced_and_a_place_is_wanted_twice) {
  constexpr std::size_t words = 2048;
  constexpr int live = 12;
  array a(rank, 2 * live, words);
  statistics s;
  redistribution redistribute = object(a, {.stats = &s});
  std::vector<int> to(2 * live, -1);
  std::vector<int> index(2 * live, 0);
  std::fill_n(to.begin(), live, (rank + 1) % ranks);
  std::iota(index.begin(), index.begin() + live, live);  // the places of dead blocks
  if (rank == ranks - 1) index[3] = index[7];
  EXPECT_THROW(redistribute(to, index), usage_error);
  a.expect_as_before();
  if (rank == ranks - 1) index[3] = live + 3;
  redistribute(to, index);
  EXPECT_EQ(s.algorithm == "node_steps", ranks > 1 && goes_in_steps(words));
  EXPECT_EQ(a.at(live + 5, 0), test::identity((rank + ranks - 1) % ranks, 5));
}

TEST_F(node_steps_of_blocks, stay_as_they_are_where_one_rank_has_a_bad_map) {
  array a(rank, 6, 4);
  redistribution redistribute = object(a);
  const std::vector<int> to(6, rank == 0 ? ranks : rank);
  const std::vector<int> index{1, 2, 3, 4, 5, 0};
  EXPECT_THROW(redistribute(to, index), usage_error);
  a.expect_as_before();
}

// If the limit is too small for the step they take the general path.
TEST_F(node_steps_of_blocks, keep_to_the_memory) {
  const auto all = test::shift_problem(ranks, 40, 40);
  const auto& map = all[static_cast<std::size_t>(rank)];
  std::size_t least = 0;
  std::size_t usual = 0;
  array a(rank, 40, 64);
  try {
    redistribution none = object(a, {.memory = 1000});
  } catch (const budget_exceeded& e) {
    const test::named_memory named(e);
    least = named.least;
    usual = named.usual;
  }
  ASSERT_GT(least, 0U);
  ASSERT_GT(usual, least);
  std::uint64_t rounds = 0;
  for (const std::size_t memory : {unlimited, usual, least, least + 1000, least + 20000, least + 100000}) {
    statistics s;
    redistribution redistribute = object(a, {.memory = memory, .stats = &s});
    for (int call = 0; call < 3; ++call) {
      a.fill();
      redistribute(map.ranks, map.indices);
      a.expect(test::expected(all, rank));
    }
    EXPECT_LE(s.peak_memory, memory);
    if (memory == unlimited) {
      rounds = s.rounds;
      EXPECT_LE(s.peak_memory, usual);
    } else if (memory == usual) {
      EXPECT_EQ(s.rounds, rounds) << "as good as no limit";
    }
  }
}

// Other calls on the communicator before, after and during one that does not wait.
TEST_F(node_steps_of_blocks, among_other_calls) {
  const auto all = test::one_cycle(ranks, 6);
  const auto& map = all[static_cast<std::size_t>(rank)];
  array a(rank, 6, 16);
  array b(rank, 6, 16);
  redistribution first = object(a);
  redistribution second = object(b);
  std::vector<int> send(static_cast<std::size_t>(ranks), rank);
  std::vector<int> recv(static_cast<std::size_t>(ranks));
  for (int i = 0; i < 5; ++i) {
    a.fill();
    b.fill();
    first.start(map.ranks, map.indices);
    alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD);
    second(map.ranks, map.indices);
    for (int r = 0; r < ranks; ++r) ASSERT_EQ(recv[static_cast<std::size_t>(r)], r);
    first.wait();
    a.expect(test::expected(all, rank));
    b.expect(test::expected(all, rank));
  }
}

}  // namespace
}  // namespace taquin
