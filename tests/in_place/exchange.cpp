#include <gtest/gtest.h>
#include <mpi.h>

#include <random>
#include <vector>

#include "in_place/problems.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

using detail::in_place_buffers;
using detail::in_place_problem;
using detail::peer_block;

struct arguments {
  std::vector<count_t> scounts, sdispls, rcounts, rdispls;
  arguments(const in_place_problem& p, int rank) {
    const auto n = static_cast<std::size_t>(p.ranks);
    scounts.resize(n), sdispls.resize(n), rcounts.resize(n), rdispls.resize(n);
    const auto r = static_cast<std::size_t>(rank);
    for (const peer_block& b : p.out[r])
      scounts[static_cast<std::size_t>(b.peer)] = b.length, sdispls[static_cast<std::size_t>(b.peer)] = b.at;
    for (const peer_block& b : p.in[r])
      rcounts[static_cast<std::size_t>(b.peer)] = b.length, rdispls[static_cast<std::size_t>(b.peer)] = b.at;
  }
};

int rank_of() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int ranks() {
  int p = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  return p;
}

in_place_problem random_problem(int p, count_t most, unsigned seed, const detail::layout_style& style) {
  std::mt19937 random(seed);
  std::vector<std::vector<count_t>> counts(static_cast<std::size_t>(p),
                                           std::vector<count_t>(static_cast<std::size_t>(p)));
  for (auto& row : counts)
    for (auto& c : row) c = random() % 3 == 0 ? 0 : static_cast<count_t>(random() % static_cast<unsigned>(most + 1));
  return make_problem(counts, style, seed);
}

TEST(in_place_exchange, random_problems_with_random_budgets) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const auto p = random_problem(ranks(), seed % 3 == 0 ? 200000 : 3000, seed, {seed % 2 == 0, seed % 5, seed % 7});
    const in_place_buffers buffers(p, element::bytes(1));
    auto work = buffers.before[static_cast<std::size_t>(rank_of())];
    const arguments a(p, rank_of());
    statistics st;
    options o{.stats = &st};
    if (seed % 4 != 0) o.memory = 16384u << (seed % 4);
    alltoallv_in_place(work.data(), a.scounts.data(), a.sdispls.data(), a.rcounts.data(), a.rdispls.data(), MPI_BYTE,
                       MPI_COMM_WORLD, o);
    ASSERT_EQ(work, buffers.expected[static_cast<std::size_t>(rank_of())]) << seed;
    EXPECT_LE(st.peak_memory, o.memory == unlimited ? std::size_t{65536} : o.memory);
    plan again(exchange::alltoallv_in_place(work.data(), count_view(a.scounts.data()), count_view(a.sdispls.data()),
                                            count_view(a.rcounts.data()), count_view(a.rdispls.data()), MPI_BYTE,
                                            MPI_COMM_WORLD),
               o);
    for (int k = 0; k < 3; ++k) {
      work = buffers.before[static_cast<std::size_t>(rank_of())];
      again.start();
      while (!again.test()) {
      }
      ASSERT_EQ(work, buffers.expected[static_cast<std::size_t>(rank_of())]) << seed;
    }
  }
}

}  // namespace
}  // namespace taquin
