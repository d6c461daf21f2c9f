// Sparse exchanges through the C API.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "support/world.hpp"
#include "taquin/sparse.hpp"
#include "taquin/taquin.h"

namespace taquin::test {
namespace {

void* allocate(std::size_t bytes, void* calls) {
  ++*static_cast<int*>(calls);
  return std::malloc(std::max<std::size_t>(bytes, 1));
}

void* allocate_little(std::size_t bytes, void*) { return bytes > 1000 ? nullptr : std::malloc(bytes + 1); }

// Its data reach the others all the same, or all have the error.
TEST(sparse, a_rank_without_room_for_what_comes_has_an_error_and_the_communicator_serves_on) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const std::array<int, 2> to{0, (me + 1) % p};
  for (const int n : {300, 5000, 100000}) {
    const std::array<MPI_Count, 2> counts{n, n};
    const std::vector<int> data(2 * static_cast<std::size_t>(n), me);
    int blocks = 0;
    int* sources = nullptr;
    MPI_Count* lengths = nullptr;
    int* in = nullptr;
    int calls = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code =
        TAQUIN_Sparse_exchange(data.data(), 2, to.data(), counts.data(), MPI_INT, MPI_COMM_WORLD,
                               me == 0 ? allocate_little : allocate, &calls, &blocks, &sources, &lengths, &in);
    EXPECT_TRUE(me != 0 || code != MPI_SUCCESS);
    if (code == MPI_SUCCESS) {
      EXPECT_EQ(in[0], (me + p - 1) % p);
      EXPECT_EQ(in[n - 1], (me + p - 1) % p);
    }
    std::free(sources);
    std::free(lengths);
    std::free(in);
    EXPECT_EQ(sparse_exchange(to, std::array<int, 2>{1, 1}, std::vector<int>{me, me}, MPI_COMM_WORLD).data.size(),
              me == 0 ? static_cast<std::size_t>(p) + 1 : 1U);
  }
}

TEST(sparse, c_brings_the_same_in_steps_and_at_once) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int p = size_of(MPI_COMM_WORLD);
  const std::array<int, 2> to{me, 0};
  const std::array<MPI_Count, 2> counts{2, 1};
  const std::array<int, 3> data{me, me, -me};
  TAQUIN_Sparse s = TAQUIN_SPARSE_NULL;
  int n = 0;
  MPI_Count elements = 0;
  ASSERT_EQ(TAQUIN_Sparse_begin(data.data(), 2, to.data(), counts.data(), MPI_INT, MPI_COMM_WORLD, &s, &n, &elements),
            0);
  ASSERT_EQ(n, 1 + (me == 0 ? p : 0));
  std::vector<int> sources(static_cast<std::size_t>(n));
  std::vector<MPI_Count> lengths(sources.size());
  std::vector<int> in(static_cast<std::size_t>(elements));
  EXPECT_EQ(TAQUIN_Sparse_sources(s, sources.data(), lengths.data()), 0);
  EXPECT_EQ(TAQUIN_Sparse_data(s, in.data()), 0);
  std::array<int, 3> back{};
  EXPECT_EQ(TAQUIN_Sparse_reply(s, in.data(), MPI_INT, back.data()), 0);
  EXPECT_EQ(back, data);
  EXPECT_EQ(TAQUIN_Sparse_end(&s), 0);
  EXPECT_EQ(s, nullptr);
  int calls = 0;
  int again = 0;
  int* sources_again = nullptr;
  MPI_Count* lengths_again = nullptr;
  int* in_again = nullptr;
  ASSERT_EQ(TAQUIN_Sparse_exchange(data.data(), 2, to.data(), counts.data(), MPI_INT, MPI_COMM_WORLD, allocate, &calls,
                                   &again, &sources_again, &lengths_again, &in_again),
            0);
  EXPECT_EQ(calls, 3);
  ASSERT_EQ(again, n);
  EXPECT_TRUE(std::equal(sources.begin(), sources.end(), sources_again));
  EXPECT_TRUE(std::equal(lengths.begin(), lengths.end(), lengths_again));
  EXPECT_TRUE(std::equal(in.begin(), in.end(), in_again));
  EXPECT_EQ(in.front(), me == 0 ? 0 : me);
  std::free(sources_again);
  std::free(lengths_again);
  std::free(in_again);
}

}  // namespace
}  // namespace taquin::test
