#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <functional>
#include <vector>

#include "redistribute/footprint.hpp"
#include "redistribute/problems.hpp"
#include "taquin/error.hpp"
#include "taquin/redistribute.hpp"

namespace taquin {
namespace {

using test::problem;

class redistribute_blocks : public testing::Test {
 protected:
  redistribute_blocks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }

  [[nodiscard]] const test::rank_map& mine(const problem& all) const { return all[static_cast<std::size_t>(rank)]; }

  // Blocks of `words` 64-bit words that all tell whose block it is.
  void check(const problem& all, std::size_t words, const redistribute_options& o) {
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

  void check_with_all(const problem& all, std::size_t words) {
    for (const auto* a : detail::redistributions()) check(all, words, {.algorithm = a->name});
  }

  [[nodiscard]] std::vector<int> sizes(int n) const {
    std::vector<int> s;
    for (int r = 0; r < ranks; ++r) s.push_back(r == 1 ? 0 : n + 3 * r);
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

TEST_F(redistribute_blocks, one_cycle_through_all_ranks) { check_with_all(test::one_cycle(ranks, 10), 1); }

TEST_F(redistribute_blocks, the_papers_experiments) {
  check_with_all(test::shift_problem(ranks, 30, 30), 16);
  check_with_all(test::shift_problem(ranks, 30, 24), 16);
  check_with_all(test::one_empty_problem(ranks, 30), 16);
  check_with_all(test::transpose_problem(ranks, 30, 24), 16);
}

}  // namespace
}  // namespace taquin
