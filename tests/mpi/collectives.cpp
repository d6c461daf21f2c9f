// The library's own collectives: right for every size, without memory that grows with what they move, and ranks that
// wait in one learn of another that has left.
#include "mpi/collectives.hpp"

#include <gtest/gtest.h>

#include <memory_resource>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/deadline.hpp"
#include "support/heap_watch.hpp"
#include "support/world.hpp"
#include "taquin/error.hpp"

namespace taquin::mpi {
namespace {

class collective : public testing::TestWithParam<std::size_t> {
 protected:
  collective() : comm(communicator::adopt(test::duplicate(MPI_COMM_WORLD))), rank(comm->rank()), p(comm->size()) {
    at = static_cast<std::size_t>(rank);
    ranks = static_cast<std::size_t>(p);
  }

  /// As in a call, in which other ranks may leave: arguments are copied then. It takes nothing from the heap.
  template <class Work>
  void in_call(Work work) {
    const present here(comm.get());
    const test::heap_watch deadline;
    work();
    EXPECT_EQ(deadline.calls(), 0U);
  }

  communicator::lease comm;
  int rank;
  int p;
  std::size_t at, ranks;
};

TEST_P(collective, broadcast_takes_no_heap) {
  std::vector<std::int64_t> values(GetParam(), rank);
  if (rank == p - 1) std::iota(values.begin(), values.end(), 7);
  in_call([&] { broadcast(std::span(values), p - 1, comm->get()); });
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<std::int64_t>(i) + 7);
}

TEST_P(collective, allreduce_takes_no_heap) {
  std::vector<std::int64_t> values(GetParam());
  std::iota(values.begin(), values.end(), rank);
  in_call([&] { allreduce(std::span(values), MPI_MAX, comm->get()); });
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<std::int64_t>(i) + p - 1);
}

TEST_P(collective, allgather_takes_no_heap) {
  const std::vector<std::int64_t> mine(GetParam(), rank);
  std::vector<std::int64_t> all(mine.size() * ranks, -1);
  in_call([&] { allgather(std::span(mine), std::span(all), comm->get()); });
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i / mine.size()));
}

TEST_P(collective, alltoallv_takes_no_heap) {
  // Rank r sends r + 1 times as many as rank 0 to every rank but the next.
  const auto count = [&](int from, int to) {
    return to == (from + 1) % p ? 0 : static_cast<int>(GetParam()) * (from + 1);
  };
  std::vector<int> layout(4 * ranks);
  int out = 0;
  int in = 0;
  for (int peer = 0; peer < p; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    layout[i] = count(rank, peer);
    layout[ranks + i] = out;
    layout[2 * ranks + i] = count(peer, rank);
    layout[3 * ranks + i] = in;
    out += layout[i];
    in += layout[2 * ranks + i];
  }
  const std::pmr::vector<std::int64_t> sent(static_cast<std::size_t>(out), rank);
  std::vector<std::int64_t> got(static_cast<std::size_t>(in), -1);
  in_call([&] { alltoallv(sent, std::span(got), std::span<const int>(layout), *comm); });
  std::size_t next = 0;
  for (int from = 0; from < p; ++from)
    for (int k = 0; k < count(from, rank); ++k) ASSERT_EQ(got[next++], from);
}

INSTANTIATE_TEST_SUITE_P(sizes, collective, testing::Values(1, 4096, 4097, 30000),
                         [](const auto& given) { return std::to_string(given.param); });

using collectives_of_one_value = collective;

TEST_P(collectives_of_one_value, alltoall_takes_no_heap_and_brings_each_ranks_value) {
  for (int call = 0; call < 100; ++call) {
    std::pmr::vector<int> out(ranks);
    std::vector<int> in(ranks, -1);
    for (int to = 0; to < p; ++to) out[static_cast<std::size_t>(to)] = 1000 * call + 10 * rank + to;
    in_call([&] { alltoall(out, std::span(in), *comm); });
    for (int from = 0; from < p; ++from) ASSERT_EQ(in[static_cast<std::size_t>(from)], 1000 * call + 10 * from + rank);
  }
}
INSTANTIATE_TEST_SUITE_P(one, collectives_of_one_value, testing::Values(1),
                         [](const auto&) { return std::string("value"); });

// After the others: those that were left keep their memory.
using collectives_left_in_the_middle = collective;

TEST_P(collectives_left_in_the_middle, end_for_those_who_wait_and_leave_memory_for_others) {
  if (test::size_of(MPI_COMM_WORLD) == 1) GTEST_SKIP() << "nobody waits";
  for (int turn = 0; turn < 5; ++turn) {
    const auto lost = communicator::adopt(test::duplicate(MPI_COMM_WORLD));
    lost->record = make_call_record(MPI_COMM_WORLD);
    std::vector<std::int64_t> values(10000, 1);
    if (rank == 0) {
      lost->abort(std::runtime_error("its own reasons"));
    } else {
      const present here(lost.get());
      EXPECT_THROW(allreduce(std::span(values), MPI_MAX, lost->get()), peer_aborted);
    }
    const present here(comm.get());
    allreduce(std::span(values), MPI_MAX, comm->get());
    EXPECT_EQ(values.back(), 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

INSTANTIATE_TEST_SUITE_P(values, collectives_left_in_the_middle, testing::Values(1),
                         [](const auto&) { return std::string("some"); });

}  // namespace
}  // namespace taquin::mpi
