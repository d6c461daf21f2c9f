// The first call of a process, in C++ or C: the last rank lacks memory from a request on, which the environment gives.
// All ranks get an error, or none does; and the next call is right.
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
#include "taquin/taquin.h"

namespace taquin::test {
namespace {

int request_without_memory() {
  const char* const given = std::getenv("TAQUIN_TEST_REQUEST");  // NOLINT(concurrency-mt-unsafe)
  return given == nullptr ? -1 : std::stoi(given);
}

// Whether some rank has failed; all of them or none.
bool all_failed(bool this_one) {
  std::array<int, 2> seen{this_one ? 1 : 0, this_one ? 0 : 1};
  MPI_Allreduce(MPI_IN_PLACE, seen.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_NE(seen[0], seen[1]) << "an error of some ranks only";
  return seen[0] != 0;
}

TEST(first_call, fails_on_all_ranks_or_on_none_when_one_rank_lacks_memory) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int request = request_without_memory();
  ASSERT_GE(request, 0);
  const std::vector<int> out(at(ranks), rank);
  std::vector<int> in(at(ranks), -1);
  const auto call = [&] { alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD); };
  const auto expect_all = [&] {
    for (int from = 0; from < ranks; ++from) EXPECT_EQ(in[at(from)], from);
  };
  bool failed = false;
  if (rank == ranks - 1) arm(fault::no_memory, request);
  try {
    call();
  } catch (const std::exception&) {
    failed = true;
  }
  const bool fired = any_rank(disarm());
  failed = all_failed(failed);
  EXPECT_TRUE(fired) << "the call makes fewer requests";
  if (!failed) expect_all();
  std::fill(in.begin(), in.end(), -1);
  call();
  expect_all();
}

TEST(first_c_call, creates_a_redistribution_on_all_ranks_or_on_none_when_one_rank_lacks_memory) {
  const int request = request_without_memory();
  ASSERT_GE(request, 0);
  std::array<int, 2> data{};
  for (const bool faulty : {true, false}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    TAQUIN_Redistribution made = TAQUIN_REDISTRIBUTION_NULL;
    if (faulty && rank_in(comm) == size_of(comm) - 1) arm(fault::memory, request);
    const int code = TAQUIN_Redistribution_create(data.data(), 2, 1, MPI_INT, comm, nullptr, TAQUIN_UNLIMITED, &made);
    EXPECT_EQ(any_rank(disarm()), faulty);
    const bool failed = all_failed(code != MPI_SUCCESS);
    EXPECT_LE(failed, faulty);
    if (!failed) {
      EXPECT_EQ(TAQUIN_Redistribution_free(&made), MPI_SUCCESS);
    }
    MPI_Comm_free(&comm);
  }
}

}  // namespace
}  // namespace taquin::test
