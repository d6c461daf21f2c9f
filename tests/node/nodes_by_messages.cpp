// TAQUIN_SHARED_MEMORY=0 where nodes are given: nothing is shared, and what goes through a node's memory otherwise goes
// by messages.
#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>
#include <vector>

#include "node/detect.hpp"
#include "node/internode.hpp"
#include "taquin/taquin.hpp"

namespace taquin::detail {
namespace {

TEST(nodes_by_messages, share_no_memory) {
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  const auto view = nodes_of(comm, {});
  ASSERT_GT(view->topology.nodes().groups(), 1);
  EXPECT_TRUE(shared_scratch::make(view->local.get(), 64).empty());
  const internode* const step = internode::get_or_create(comm);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->nodes().largest(), 1);
  EXPECT_FALSE(internode::joins_nodes(comm));
}

TEST(nodes_by_messages, exchange_blocks_when_they_share_no_memory) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<int> send(p);
  std::vector<int> expected(p);
  std::iota(send.begin(), send.end(), rank * ranks);
  for (int from = 0; from < ranks; ++from) expected[static_cast<std::size_t>(from)] = from * ranks + rank;
  for (const char* name : {"node_aggregated", "auto"}) {
    std::vector<int> recv(p, -1);
    alltoall(std::span<const int>(send), std::span(recv), MPI_COMM_WORLD, {.algorithm = name});
    EXPECT_EQ(recv, expected) << name;
  }
}

}  // namespace
}  // namespace taquin::detail
