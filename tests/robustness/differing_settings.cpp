// Run with TAQUIN_TEST_DIFFERS=NAME=VALUE: the last rank has this variable and the others have not. Whatever it is, no
// call hangs: all ranks have the right data, or all have the same error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "support/world.hpp"

namespace taquin::test {
namespace {

class differing_settings : public testing::Test {
 protected:
  /// Before the first call of taquin, which reads its variables.
  static void SetUpTestSuite() {
    const char* variable = std::getenv("TAQUIN_TEST_DIFFERS");
    ASSERT_NE(variable, nullptr);
    if (rank_in(MPI_COMM_WORLD) == size_of(MPI_COMM_WORLD) - 1) putenv(const_cast<char*>(variable));
  }
  differing_settings() : out(at(p), rank), in(at(p), -1), counts(at(p), 1), displs(at(p)) {
    std::iota(displs.begin(), displs.end(), count_t{0});
  }
  [[nodiscard]] exchange equal(MPI_Comm comm) {
    return exchange::alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  }
  [[nodiscard]] exchange irregular(MPI_Comm comm) {
    return exchange::alltoallv(out.data(), count_view(counts.data()), count_view(displs.data()), MPI_INT, in.data(),
                               count_view(counts.data()), count_view(displs.data()), MPI_INT, comm);
  }
  /// Two of these calls on a communicator of their own, so that the first is among them.
  void expect_the_same_everywhere(const std::function<void(MPI_Comm)>& call) {
    const scoped_comm comm(duplicate(MPI_COMM_WORLD));
    for (int turn = 0; turn < 2; ++turn) {
      std::array<char, 400> first{};
      std::ranges::fill(in, -1);
      try {
        call(comm.get());
        for (int i = 0; i < p; ++i) EXPECT_EQ(in[at(i)], i);
      } catch (const error& e) {
        EXPECT_TRUE(e.collective()) << e.what();
        const std::string_view text = e.what();  // a rank's own figures left out
        fmt::format_to_n(first.begin(), first.size() - 1, "{}", text.substr(0, text.find(" (at most")));
      }
      const std::string mine = first.data();
      MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
      EXPECT_EQ(mine, first.data());
    }
  }

  int rank = rank_in(MPI_COMM_WORLD);
  int p = size_of(MPI_COMM_WORLD);
  std::vector<int> out, in;
  std::vector<count_t> counts, displs;
};

TEST_F(differing_settings, end_calls_alike_on_all_ranks) {
  for (const char* name : {"auto", "native", "spread_out", "bruck_v", "two_phase", "shared_memory", "multilevel"}) {
    SCOPED_TRACE(name);
    const options o{.algorithm = name};
    expect_the_same_everywhere([&](MPI_Comm comm) { run(equal(comm), o); });
    expect_the_same_everywhere([&](MPI_Comm comm) { run(irregular(comm), o); });
    expect_the_same_everywhere([&](MPI_Comm comm) { plan(irregular(comm), o).run(); });
  }
}

TEST_F(differing_settings, end_calls_in_place_alike_on_all_ranks) {
  expect_the_same_everywhere([&](MPI_Comm comm) {
    std::ranges::fill(in, rank);
    alltoallv_in_place(in.data(), counts.data(), displs.data(), counts.data(), displs.data(), MPI_INT, comm);
  });
}

TEST_F(differing_settings, end_plans_alike_on_all_ranks) {
  expect_the_same_everywhere([&](MPI_Comm comm) {
    std::array<plan, 3> some{plan(equal(comm)), plan(irregular(comm)), plan(irregular(comm), {.tune = true})};
    for (int start = 0; start < 20; ++start)
      for (plan& one : some) {
        one.start();
        one.wait();
      }
  });
}

TEST_F(differing_settings, end_redistributions_alike_on_all_ranks) {
  std::vector<int> ranks(at(p)), indices(at(p), rank);
  std::iota(ranks.begin(), ranks.end(), 0);
  expect_the_same_everywhere([&](MPI_Comm comm) {
    std::ranges::fill(in, rank);
    redistribution moves(in.data(), p, 1, MPI_INT, comm);
    moves(ranks, indices);
  });
}

}  // namespace
}  // namespace taquin::test
