// A profile is data of the route: where it names the algorithm of the step, or cannot be used, calls take the step.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "select/profile.hpp"
#include "support/world.hpp"
#include "taquin/alltoall.hpp"

namespace taquin::test {
namespace {

// Unless the environment names a profile: one with two rules, before anything reads the environment.
class profile_with_rules {
 public:
  profile_with_rules() {
    if (std::getenv("TAQUIN_PROFILE") != nullptr) return;
    detail::profile p;
    p.model.machine = detail::machine_name();
    p.rules.push_back({.algorithm = "shared_memory", .kind = exchange::form::alltoallv});
    p.rules.push_back({.algorithm = "spread_out", .kind = exchange::form::alltoall});
    file_ = std::filesystem::temp_directory_path() / ("taquin_routes_" + std::to_string(getpid()) + ".json");
    detail::write_profile(file_, p);
    setenv("TAQUIN_PROFILE", file_.c_str(), 1);
  }
  profile_with_rules(const profile_with_rules&) = delete;
  profile_with_rules& operator=(const profile_with_rules&) = delete;
  ~profile_with_rules() {
    if (!file_.empty()) std::filesystem::remove(file_);
  }
  [[nodiscard]] bool has_rules() const { return !file_.empty(); }

 private:
  std::filesystem::path file_;
};
const profile_with_rules given;

struct profiles : testing::Test {
  int rank = rank_in(MPI_COMM_WORLD);
  int p = size_of(MPI_COMM_WORLD);
  scoped_comm comm{duplicate(MPI_COMM_WORLD)};

  // The statistics of a third call of few bytes.
  statistics third_call(exchange::form kind) {
    statistics stats;
    std::vector<int> send(at(p), rank), recv(at(p), -1), expected;
    std::vector<count_t> counts(at(p), 1), displs;
    for (int i = 0; i < p; ++i) displs.push_back(i), expected.push_back(i);
    for (int i = 0; i < 3; ++i) {
      stats = {};
      recv.assign(at(p), -1);
      if (kind == exchange::form::alltoall)
        alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm.get(), {.stats = &stats});
      else
        alltoallv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), counts.data(), displs.data(),
                  MPI_INT, comm.get(), {.stats = &stats});
      EXPECT_EQ(recv, expected);
    }
    return stats;
  }
};

// A plan allocates memory; a step of so few bytes allocates none.
TEST_F(profiles, that_name_the_algorithm_of_the_step_leave_calls_to_it) {
  const statistics stats = third_call(exchange::form::alltoallv);
  EXPECT_EQ(stats.algorithm, "shared_memory");
  EXPECT_EQ(stats.peak_memory, 0U);
}

TEST_F(profiles, that_name_another_algorithm_are_followed) {
  const statistics stats = third_call(exchange::form::alltoall);
  EXPECT_EQ(stats.algorithm, given.has_rules() ? "spread_out" : "shared_memory");
  EXPECT_EQ(stats.peak_memory == 0, !given.has_rules());
}

}  // namespace
}  // namespace taquin::test
