// taquin run --traffic.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "program.hpp"
#include "workloads/traffic.hpp"

namespace taquin::cli {
namespace {

using workloads::byte_matrix;
using workloads::call_kind;

// Three ranks; all kinds of calls, one of them on a communicator of two ranks in reverse order.
workloads::traffic recording() {
  workloads::traffic t;
  t.program = "example";
  t.ranks = 3;
  t.communicators = {{0, 1, 2}, {2, 0}};
  std::vector<byte_matrix::flow> all;
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) all.push_back({from, to, 8});
  t.matrices = {byte_matrix(3, all), byte_matrix(3, {{0, 2, 100}, {1, 0, 7}, {1, 1, 9}}),
                byte_matrix(2, {{0, 1, 50}, {1, 0, 60}})};
  t.calls.push_back({.communicator = 0, .matrix = 0, .kind = call_kind::alltoall});
  t.calls.push_back({.communicator = 0, .matrix = 1, .kind = call_kind::alltoallv, .repeats = 3});
  t.calls.push_back({.communicator = 1, .matrix = 2, .kind = call_kind::alltoallw});
  return t;
}

class file {
 public:
  explicit file(const workloads::traffic& t) : path(temporary_path("traffic.json")) { write_traffic(t, path); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() { std::filesystem::remove(path); }
  std::string path;
};

TEST(replay, runs_every_recorded_call_and_verifies_it) {
  const file f(recording());
  for (const char* how : {"", " --persistent"}) {
    const auto r = taquin(3, "run -a spread_out,pairwise --reps 2 --json - --traffic " + f.path + how);
    ASSERT_EQ(r.status, 0) << r.err;
    ASSERT_EQ(r.json().size(), 3U);
    for (const auto& one : r.json()) {
      EXPECT_EQ(one["wrong_bytes"], 0);
      EXPECT_EQ(one["workload"], f.path);
      EXPECT_EQ(one["bytes_per_rank"], 100);
      EXPECT_EQ(one["messages"], 2 + 3 + 1);  // rank 0 sends most of both
      EXPECT_EQ(one["bytes_sent"], 2 * 8 + 3 * 100 + 60);
    }
  }
}

TEST(replay, a_call_in_place_is_replayed_in_place) {
  auto t = recording();
  t.calls = {{.communicator = 0, .matrix = 0, .kind = call_kind::alltoall, .in_place = true, .repeats = 2}};
  const file f(t);
  const auto r = taquin(3, "run -a native,all --reps 2 --json - --traffic " + f.path);
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto& one : r.json()) EXPECT_EQ(one["wrong_bytes"], 0) << one;
}

TEST(replay, another_number_of_ranks_is_an_error) {
  const file f(recording());
  const auto r = taquin(2, "run --traffic " + f.path);
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.err, "was recorded on 3 ranks and can only be replayed on as many, not on 2"), 1) << r.err;
}

TEST(replay, a_missing_or_damaged_file_is_an_error) {
  EXPECT_EQ(taquin(2, "run --traffic /nonexistent/traffic.json").status, 1);
  const std::string path = temporary_path("damaged.json");
  std::ofstream(path) << "{\"ranks\": ";
  const auto r = taquin(2, "run --traffic " + path);
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.err, path), 1) << r.err;
  std::filesystem::remove(path);
}

TEST(replay, an_alltoall_with_unequal_blocks_is_an_error) {
  auto t = recording();
  t.calls = {{.communicator = 0, .matrix = 1, .kind = call_kind::alltoall}};
  const file f(t);
  const auto r = taquin(3, "run --traffic " + f.path);
  EXPECT_EQ(r.status, 1) << r.err;
}

}  // namespace
}  // namespace taquin::cli
