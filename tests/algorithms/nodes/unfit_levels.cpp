// Run with TAQUIN_NODES=3,3/1,2,1,1,1 on 6 ranks: equal nodes with different groups inside. Algorithms for levels that
// serve on one node only are an error on all ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

TEST(unfit_levels, are_an_error_on_all_ranks) {
  const std::vector<int> send(6, rank_in(MPI_COMM_WORLD));
  std::vector<int> recv(6, -1);
  const exchange x = exchange::alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (const bool reused : {false, true}) {
    const auto call = [&](const char* levels) {
      const options o{.algorithm = "multilevel", .multilevel = {.levels = levels}};
      if (reused) {
        plan(x, o).run();
      } else {
        run(x, o);
      }
    };
    try {
      call("spread_out,modified_bruck,spread_out");
      ADD_FAILURE() << "not noticed";
    } catch (const usage_error& e) {
      EXPECT_TRUE(e.collective()) << e.what();
      EXPECT_EQ(e.mpi_class(), MPI_ERR_UNSUPPORTED_OPERATION);
    }
    EXPECT_EQ(recv, std::vector<int>(6, -1));
    for (const char* levels : {"modified_bruck,spread_out,bruck_v", "modified_bruck,bruck_v"}) {
      call(levels);
      for (int i = 0; i < 6; ++i) EXPECT_EQ(recv[at(i)], i) << levels;
      recv.assign(6, -1);
    }
  }
}

}  // namespace
}  // namespace taquin::test
