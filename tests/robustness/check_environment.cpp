// TAQUIN_CHECK=1, which this program is run with, and TAQUIN_ALGORITHM=pairwise.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

TEST(environment, check_finds_sizes_that_differ_before_anything_is_sent) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<count_t> counts(at(p), 1), receives(at(p), 1), displs(at(p));
  for (int i = 0; i < p; ++i) displs[at(i)] = 2 * i;
  if (rank == p - 1) receives[0] = 2;
  const std::vector<int> send(at(2 * p), 5);
  std::vector<int> recv(at(2 * p), -1);
  try {
    alltoallv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), receives.data(), displs.data(), MPI_INT,
              MPI_COMM_WORLD);
    FAIL() << "no error";
  } catch (const usage_error& e) {
    const std::string expected = "rank 0 sends 4 bytes to rank " + std::to_string(p - 1) + ", which expects 8 bytes";
    EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
    EXPECT_EQ(e.rank(), p - 1);
    EXPECT_EQ(e.peer(), 0);
  }
  EXPECT_EQ(recv, std::vector<int>(at(2 * p), -1));
}

TEST(environment, algorithm_stands_in_for_auto_only) {
  std::vector<int> send(at(size_of(MPI_COMM_WORLD))), recv(send.size());
  const auto x = exchange::alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD);
  EXPECT_EQ(plan(x).algorithm(), "pairwise");
  EXPECT_EQ(plan(x, {.algorithm = "spread_out"}).algorithm(), "spread_out");
}

}  // namespace
}  // namespace taquin::test
