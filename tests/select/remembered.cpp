// Blocking calls between nodes begin with what an earlier program has found to be the fastest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "support/world.hpp"
#include "taquin/taquin.hpp"

namespace taquin::test {
namespace {

// Of calls on a communicator of their own, in order. What it has found is written when it is freed.
std::vector<std::string> algorithms_of_calls() {
  constexpr int calls = 12;
  constexpr int n = 2000;
  const scoped_comm comm(duplicate(MPI_COMM_WORLD));
  const int p = size_of(comm.get());
  const std::vector<int> send(at(p * n), rank_in(comm.get()));
  std::vector<int> recv(at(p * n));
  std::vector<std::string> all;
  for (int call = 0; call < calls; ++call) {
    std::ranges::fill(recv, -1);
    statistics s;
    alltoall(send.data(), n, MPI_INT, recv.data(), n, MPI_INT, comm.get(), {.stats = &s});
    for (int i = 0; i < p * n; ++i) EXPECT_EQ(recv[at(i)], i / n);
    all.emplace_back(s.algorithm);
  }
  return all;
}

std::size_t number_of(const std::vector<std::string>& names) { return std::set(names.begin(), names.end()).size(); }

TEST(remembered, the_fastest_serves_from_the_first_call_on) {
  const auto folder = std::filesystem::temp_directory_path() / ("taquin-remembered-" + std::to_string(getppid()));
  ASSERT_EQ(setenv("XDG_CACHE_HOME", folder.c_str(), 1), 0);
  if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::remove_all(folder);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto before = algorithms_of_calls();
  MPI_Barrier(MPI_COMM_WORLD);
  const auto after = algorithms_of_calls();
  EXPECT_EQ(number_of({before.begin() + 2, before.end()}), 2U) << "two are measured";
  if (detail::environment::get().remember) {
    EXPECT_EQ(number_of({after.begin() + 2, after.end()}), 1U) << "nothing is measured again";
    EXPECT_EQ(after.back(), before.back());
  } else {
    EXPECT_EQ(number_of({after.begin() + 2, after.end()}), 2U);
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace taquin::test
