// two_phase over every algorithm that can be inside another, within the memory that it states.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

class inner_algorithms : public testing::TestWithParam<const detail::algorithm*> {};

problem make_problem(const workload& w, count_t most, std::vector<type_pair>& types) {
  const int p = size_of(MPI_COMM_WORLD);
  std::mt19937 random(17);
  return {.kind = exchange::form::alltoallv, .p = p, .counts = w.make(p, most, random), .seed = 17, .types = &types};
}

TEST_P(inner_algorithms, serve_both_phases_or_say_that_they_do_not) {
  const options o{.algorithm = "two_phase", .two_phase = {.inner = GetParam()->name}};
  std::vector<type_pair> types;
  types.push_back(all_types[3].make());  // gaps
  for (const auto& w : all_workloads)
    for (const count_t most : {5, 1500}) {
      const problem x = make_problem(w, most, types);
      if (!GetParam()->serves_inside) {
        rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
        EXPECT_THROW(run(mine.given_to(MPI_COMM_WORLD), o), usage_error);
      } else {
        // Parts of blocks differ by a byte, but where all blocks are equal.
        const count_t first = x.counts[0][0];
        bool equal = true;
        for (const auto& row : x.counts)
          for (const count_t n : row) equal = equal && n == first;
        EXPECT_EQ(exchange_is_right(x, MPI_COMM_WORLD, o), GetParam()->supports({.uniform = equal})) << w.name;
      }
    }
}

TEST_P(inner_algorithms, keep_within_the_memory_that_is_stated) {
  if (!GetParam()->serves_inside || !GetParam()->supports({.uniform = false})) GTEST_SKIP() << "serves no parts";
  options o{.algorithm = "two_phase", .memory = 0, .two_phase = {.inner = GetParam()->name}};
  std::vector<type_pair> types;
  types.push_back(all_types[0].make());
  const problem x = make_problem(all_workloads[1], 900, types);
  rank_buffers mine(x, rank_in(MPI_COMM_WORLD));
  try {
    run(mine.given_to(MPI_COMM_WORLD), o);
    ADD_FAILURE() << "took memory that it did not have";
  } catch (const budget_exceeded& e) {
    o.memory = e.requested();
  }
  EXPECT_TRUE(exchange_is_right(x, MPI_COMM_WORLD, o));
}

INSTANTIATE_TEST_SUITE_P(list, inner_algorithms,
                         testing::ValuesIn(detail::algorithms().begin(), detail::algorithms().end()),
                         algorithm_test_name);

}  // namespace
}  // namespace taquin::test
