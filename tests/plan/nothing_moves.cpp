// Plans in which no rank has anything for another.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "support/world.hpp"
#include "taquin/plan.hpp"

namespace taquin::test {
namespace {

class plans_without_data_for_others : public testing::Test {
 protected:
  // Rank 0 goes through the plan before any other rank starts it.
  void expect_alone(plan& p) const {
    int token = 0;
    if (rank > 0) {
      ASSERT_EQ(MPI_Recv(&token, 1, MPI_INT, 0, 7, comm.get(), MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    p.start();
    p.wait();
    for (int other = 1; rank == 0 && other < size; ++other)
      ASSERT_EQ(MPI_Send(&token, 1, MPI_INT, other, 7, comm.get()), MPI_SUCCESS);
  }

  scoped_comm comm{duplicate(MPI_COMM_WORLD)};
  int rank = rank_in(comm.get());
  int size = size_of(comm.get());
  std::vector<int> counts = std::vector<int>(at(size), 0);
  std::vector<int> displs = std::vector<int>(at(size), 0);
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(at(size), MPI_INT);
  std::vector<int> send{1, 2, 3, 4};
  std::vector<int> recv = std::vector<int>(4, -1);
};

TEST_F(plans_without_data_for_others, wait_for_nobody) {
  counts[at(rank)] = 3;
  plan v(exchange::alltoallv(send.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                             count_view(counts.data()), count_view(displs.data()), MPI_INT, comm.get()));
  for (int start = 0; start < 3; ++start) {
    send[1] = start;
    expect_alone(v);
    EXPECT_EQ(recv, (std::vector<int>{1, start, 3, -1}));
  }
  plan w(exchange::alltoallw(send.data(), count_view(counts.data()), count_view(displs.data()), types.data(),
                             recv.data(), count_view(counts.data()), count_view(displs.data()), types.data(),
                             comm.get()));
  send[0] = 9;
  expect_alone(w);
  EXPECT_EQ(recv, (std::vector<int>{9, 2, 3, -1}));
}

TEST_F(plans_without_data_for_others, may_have_no_data_at_all) {
  plan v(exchange::alltoallv(send.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                             count_view(counts.data()), count_view(displs.data()), MPI_INT, comm.get()));
  for (int start = 0; start < 3; ++start) expect_alone(v);
  EXPECT_EQ(recv, std::vector<int>(4, -1));
}

// Where one rank has something, all take part as ever.
TEST_F(plans_without_data_for_others, are_told_from_those_of_one_message) {
  std::vector<int> expected(at(size), 0);
  if (rank == 0) counts[at(size - 1)] = 2;
  if (rank == size - 1) expected[0] = 2;
  plan v(exchange::alltoallv(send.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, recv.data(),
                             count_view(expected.data()), count_view(displs.data()), MPI_INT, comm.get()));
  for (int start = 0; start < 3; ++start) {
    send[0] = start;
    v.start();
    v.wait();
    if (rank == size - 1) {
      EXPECT_EQ(recv, (std::vector<int>{start, 2, -1, -1}));
    }
  }
}

}  // namespace
}  // namespace taquin::test
