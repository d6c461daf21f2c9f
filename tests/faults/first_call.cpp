// The first call of a process: the last rank lacks memory from a request on, which the environment gives. All ranks get
// an error, or none does; and the next call is right.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "faults/layer.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

TEST(first_call, fails_on_all_ranks_or_on_none_when_one_rank_lacks_memory) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  const char* const given = std::getenv("TAQUIN_TEST_REQUEST");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(given, nullptr);
  const int request = std::stoi(given);
  const std::vector<int> out(at(ranks), rank);
  std::vector<int> in(at(ranks), -1);
  const auto call = [&] { alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD); };
  const auto expect_all = [&] {
    for (int from = 0; from < ranks; ++from) EXPECT_EQ(in[at(from)], from);
  };
  int failed = 0;
  if (rank == ranks - 1) arm(fault::no_memory, request);
  try {
    call();
  } catch (const std::exception&) {
    failed = 1;
  }
  const bool fired = any_rank(disarm());
  std::array<int, 2> seen{failed, 1 - failed};
  MPI_Allreduce(MPI_IN_PLACE, seen.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_NE(seen[0], seen[1]) << "an error of some ranks only";
  EXPECT_TRUE(fired) << "the call makes fewer requests";
  if (failed == 0) expect_all();
  std::fill(in.begin(), in.end(), -1);
  call();
  expect_all();
}

}  // namespace
}  // namespace taquin::test
