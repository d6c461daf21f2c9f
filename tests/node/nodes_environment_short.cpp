// Run on 2 ranks with a TAQUIN_NODES that does not fit: nodes or groups of 3 ranks, or too many levels.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "taquin/taquin.hpp"

namespace taquin {
namespace {

TEST(nodes_environment, that_does_not_fit_the_world_fails_on_every_rank) {
  const std::array send{1, 2};
  std::array recv{-1, -1};
  EXPECT_THROW(alltoall(std::span<const int>(send), std::span<int>(recv), MPI_COMM_WORLD), usage_error);
  EXPECT_EQ(recv, (std::array{-1, -1})) << "something was sent";
}

}  // namespace
}  // namespace taquin
