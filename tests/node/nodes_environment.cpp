// Run with TAQUIN_NODES=1,2 on 3 ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include "node/detect.hpp"
#include "taquin/taquin.hpp"

namespace taquin::detail {
namespace {

TEST(nodes_environment, describes_the_world) {
  const auto view = nodes_of(mpi::communicator::get_or_create(MPI_COMM_WORLD), {});
  EXPECT_EQ(view->topology.nodes().group, (std::vector{0, 1, 1}));
}

TEST(nodes_environment, carries_over_to_other_communicators) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  EXPECT_FALSE(check_nodes(mpi::communicator::get_or_create(reversed), {}));
  EXPECT_EQ(nodes_of(mpi::communicator::get_or_create(reversed), {})->topology.nodes().group, (std::vector{0, 0, 1}));
  MPI_Comm_free(&reversed);
}

}  // namespace
}  // namespace taquin::detail
