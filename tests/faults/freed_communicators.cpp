// Communicators that taquin makes are freed only when no rank can still send on them: MPI libraries give the context of
// a freed communicator to the next one, which would receive these messages, or crash by them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "faults/layer.hpp"
#include "support/instruments.hpp"
#include "support/next_function.hpp"
#include "support/world.hpp"

namespace {

std::array<MPI_Comm, 32> made{};  // by taquin, of ranks of another communicator, in the call that is looked at
std::size_t makes = 0;
int freed = 0;            // of these
bool tests_fail = false;  // of requests
int failed_tests = 0;

}  // namespace

extern "C" int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* created) {
  static auto* const next = taquin::test::next_function<decltype(PMPI_Comm_create_group)>("PMPI_Comm_create_group");
  const int code = next(comm, group, tag, created);
  if (code == MPI_SUCCESS) made.at(makes++ % made.size()) = *created;
  return code;
}

extern "C" int PMPI_Comm_free(MPI_Comm* comm) {
  static auto* const next = taquin::test::next_function<decltype(PMPI_Comm_free)>("PMPI_Comm_free");
  if (std::ranges::find(made, *comm) != made.end()) ++freed;
  return next(comm);
}

extern "C" int PMPI_Testall(int n, MPI_Request* requests, int* done, MPI_Status* statuses) {
  static auto* const next = taquin::test::next_function<decltype(PMPI_Testall)>("PMPI_Testall");
  if (tests_fail) ++failed_tests;
  return tests_fail ? MPI_ERR_OTHER : next(n, requests, done, statuses);
}

namespace taquin::test {
namespace {

/// An exchange of one int with each rank.
struct ints {
  explicit ints(MPI_Comm comm) : out(at(size_of(comm))), in(out.size(), -1), counts(out.size(), 1), displs(out.size()) {
    std::iota(displs.begin(), displs.end(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rank_in(comm) * 100 + static_cast<int>(i);
  }
  exchange between(MPI_Comm comm) {
    const auto n = count_view(counts.data());
    const auto d = count_view(displs.data());
    return exchange::alltoallv(out.data(), n, d, MPI_INT, in.data(), n, d, MPI_INT, comm);
  }
  [[nodiscard]] bool right(int rank) const {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i] != static_cast<int>(i) * 100 + rank) return false;
    return true;
  }
  std::vector<int> out, in;
  std::vector<count_t> counts, displs;
};

class freed_communicators : public testing::TestWithParam<const detail::algorithm*> {};

// The last rank lacks memory at each of its requests in turn, while the call makes communicators that other ranks use
// already.
TEST_P(freed_communicators, are_none_of_a_call_that_one_rank_aborts) {
  const bool harms = rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1;
  const options o{.algorithm = GetParam()->name, .on_timeout = after_timeout::fail, .timeout = 20};
  bool first_call = false;
  for (int n = 0;; ++n) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    ints x(comm.get());
    if (!first_call) run(x.between(comm.get()));
    bool alone = false;
    MPI_Barrier(MPI_COMM_WORLD);
    made.fill(MPI_COMM_NULL);
    freed = 0;
    if (harms) arm(fault::memory, n);
    try {
      plan moves(x.between(comm.get()), o);
      moves.start();
      moves.wait();
    } catch (const error& e) {
      alone = !e.collective();
    } catch (const std::exception&) {
      alone = true;
    }
    const bool fired = any_rank(disarm());
    const bool wrong = alone && freed > 0;
    EXPECT_FALSE(wrong) << "request " << n << ": " << freed << " communicators were freed";
    if ((!fired && first_call) || any_rank(wrong)) break;
    if (!fired) first_call = true, n = -1;
  }
}

INSTANTIATE_TEST_SUITE_P(algorithms, freed_communicators, testing::ValuesIn(detail::algorithms()), algorithm_test_name);

// Rank 0 has its data and frees the communicator; then a call of the last rank fails, which notifies rank 0.
// Communicators that rank 0 makes afterwards receive nothing of that.
TEST(a_freed_communicator, gives_its_context_to_no_other_while_a_rank_may_notify_it) {
  const int p = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm = duplicate(MPI_COMM_WORLD);
  ints x(comm);
  std::optional<plan> moves(std::in_place, x.between(comm), options{.algorithm = "spread_out"});
  moves->start();
  const int last = p - 1;
  if (rank != last) {
    moves->wait();
    EXPECT_TRUE(x.right(rank));
    moves.reset();
    MPI_Comm_free(&comm);
    MPI_Send(nullptr, 0, MPI_INT, last, 0, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int r = 0; r < last; ++r) MPI_Recv(nullptr, 0, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tests_fail = true;
    EXPECT_THROW(while (!moves->test());, mpi_error);
    tests_fail = false;
    EXPECT_GT(failed_tests, 0);
    moves.reset();
    MPI_Comm_free(&comm);
    for (int r = 0; r < last; ++r) MPI_Send(nullptr, 0, MPI_INT, r, 0, MPI_COMM_WORLD);
  }
  std::vector<MPI_Comm> own(16);
  for (MPI_Comm& c : own) MPI_Comm_dup(MPI_COMM_SELF, &c);
  for (MPI_Comm& c : own) {
    int arrived = 0;
    for (int turn = 0; turn < 10; ++turn) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &arrived, MPI_STATUS_IGNORE);
    EXPECT_EQ(arrived, 0) << "a message of another communicator";
    MPI_Comm_free(&c);
  }
}

}  // namespace
}  // namespace taquin::test
