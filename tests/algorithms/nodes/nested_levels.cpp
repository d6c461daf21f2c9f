// Run with TAQUIN_NODES=3,2/2,1,2/1,1,1,1,1 on 5 ranks: groups inside groups inside nodes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "node/detect.hpp"
#include "support/world.hpp"

namespace taquin::test {
namespace {

TEST(nested_levels, are_what_the_environment_says) {
  const auto view = detail::nodes_of(mpi::communicator::get_or_create(MPI_COMM_WORLD), {});
  const auto& levels = view->topology.levels;
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].group, (std::vector{0, 0, 0, 1, 1}));
  EXPECT_EQ(levels[1].group, (std::vector{0, 0, 1, 2, 2}));
  EXPECT_EQ(levels[2].group, (std::vector{0, 1, 2, 3, 4}));
}

constexpr std::array names{"bruck_v,spread_out",
                           "bruck_v",
                           "spread_out,one_factor,bruck_v,pairwise",
                           "pairwise,spread_out,spread_out",
                           "one_factor,bruck_v,spread_out,spread_out,spread_out",
                           "auto",
                           "bruck_v:3,auto,bruck_v:2"};

TEST(nested_levels, deliver_every_workload) {
  std::mt19937 random(5);
  for (const char* levels : names)
    for (const auto& w : all_workloads)
      for (const count_t most : {count_t{6}, count_t{1500}}) {
        SCOPED_TRACE(testing::Message() << levels << ' ' << w.name << ' ' << most);
        std::vector<type_pair> types;
        types.push_back(all_types[random() % 2].make());
        problem x{.kind = exchange::form::alltoallv,
                  .p = size_of(MPI_COMM_WORLD),
                  .counts = w.make(size_of(MPI_COMM_WORLD), most, random),
                  .seed = 7,
                  .in_place = false,
                  .symmetric = true,
                  .interleaves = false,
                  .types = &types};
        EXPECT_TRUE(
            exchange_is_right(x, MPI_COMM_WORLD, {.algorithm = "multilevel", .multilevel = {.levels = levels}}));
      }
}

TEST(nested_levels, take_no_more_memory_than_they_state) {
  const int p = size_of(MPI_COMM_WORLD);
  const auto n = static_cast<std::size_t>(p);
  const std::vector<int> send(4 * n, rank_in(MPI_COMM_WORLD));
  std::vector<int> expected;
  for (int i = 0; i < p; ++i) expected.insert(expected.end(), 4, i);
  for (const char* levels : names) {
    std::vector<int> recv(4 * n, -1);
    statistics s;
    options o{.algorithm = "multilevel", .memory = 0, .multilevel = {.levels = levels}, .stats = &s};
    const auto call = [&] { alltoall(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, MPI_COMM_WORLD, o); };
    const auto prepared = [&] {
      plan(exchange::alltoall(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, MPI_COMM_WORLD), o).run();
    };
    try {
      call();
      ADD_FAILURE() << levels;
    } catch (const budget_exceeded& e) {
      o.memory = e.requested();
    }
    call();
    EXPECT_EQ(recv, expected) << levels;
    std::ranges::fill(recv, -1);
    prepared();
    EXPECT_EQ(recv, expected) << levels;
    EXPECT_LE(s.peak_memory, o.memory);
  }
}

}  // namespace
}  // namespace taquin::test
