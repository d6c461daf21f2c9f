// The promises of every workload, and the use of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "workloads/workload.hpp"

namespace taquin::workloads {
namespace {

std::string example(const generator& g) {
  return std::string(g.name) + (g.parameter.empty() || g.parameter.starts_with('[') ? "" : ":3");
}

count_t sum(const std::vector<count_t>& v) { return std::accumulate(v.begin(), v.end(), count_t{0}); }

std::vector<count_t> row(const char* name, int ranks, count_t bytes, int from) {
  return workload::parse(name).row({ranks, bytes, 1}, from);
}

TEST(workloads, columns_are_transposed_rows_and_no_block_is_negative) {
  for (const generator& g : generators())
    for (const int p : {1, 2, 3, 7, 8, 33})
      for (const count_t bytes : {0, 1, 5, 1000, 4096}) {
        const workload w = workload::parse(example(g));
        for (int to = 0; to < p; ++to) {
          const auto column = w.column({p, bytes, 5}, to);
          ASSERT_EQ(column.size(), static_cast<std::size_t>(p));
          for (int from = 0; from < p; ++from) {
            ASSERT_EQ(column[static_cast<std::size_t>(from)], w.row({p, bytes, 5}, from)[static_cast<std::size_t>(to)])
                << g.name << " p " << p << " bytes " << bytes;
            ASSERT_GE(column[static_cast<std::size_t>(from)], 0) << g.name;
          }
        }
      }
}

TEST(workloads, each_rank_sends_the_bytes_asked_for) {
  for (const char* name : {"random", "zipf", "zipf:0.5", "sparse:2", "shift", "shift:-3", "transpose", "hot:2", "self"})
    for (const int p : {1, 2, 3, 8, 100})
      for (const count_t bytes : {0, 1, 7, 1000, 1'000'000})
        for (int from = 0; from < p; ++from) EXPECT_EQ(sum(row(name, p, bytes, from)), bytes) << name << " p " << p;
}

TEST(workloads, the_seed_decides_what_is_random) {
  for (const char* name : {"random", "zipf", "sparse:3"}) {
    const workload w = workload::parse(name);
    EXPECT_EQ(w.row({16, 10000, 7}, 3), w.row({16, 10000, 7}, 3)) << name;
    EXPECT_NE(w.row({16, 10000, 7}, 3), w.row({16, 10000, 8}, 3)) << name;
    EXPECT_NE(w.row({16, 10000, 7}, 3), w.row({16, 10000, 7}, 4)) << name;
  }
}

TEST(workloads, give_equal_blocks_when_uniform) {
  EXPECT_EQ(row("uniform", 4, 64, 2), std::vector<count_t>(4, 16));
  EXPECT_EQ(row("uniform", 3, 64, 2), std::vector<count_t>(3, 21));
  EXPECT_EQ(row("uniform", 4, 2, 0), std::vector<count_t>(4, 1));
}

TEST(workloads, zipf_falls_by_rank_of_size) {
  auto blocks = row("zipf:1", 4, 25000, 0);
  std::ranges::sort(blocks, std::greater{});
  EXPECT_EQ(blocks, (std::vector<count_t>{12000, 6000, 4000, 3000}));
}

TEST(workloads, sparse_reaches_k_other_ranks) {
  for (int from = 0; from < 20; ++from) {
    const auto blocks = row("sparse:5", 20, 1000, from);
    EXPECT_EQ(std::ranges::count(blocks, 200), 5);
    EXPECT_EQ(blocks[static_cast<std::size_t>(from)], 0);
  }
}

TEST(workloads, sparse_patterns_name_their_ranks) {
  EXPECT_EQ(row("ring", 4, 9, 0), (std::vector<count_t>{0, 5, 0, 4}));
  EXPECT_EQ(row("ring", 2, 9, 1), (std::vector<count_t>{9, 0}));
  EXPECT_EQ(row("ring", 1, 9, 0), std::vector<count_t>{0});
  EXPECT_EQ(row("all_to_one", 3, 9, 2), (std::vector<count_t>{9, 0, 0}));
  EXPECT_EQ(row("all_to_one", 3, 9, 0), std::vector<count_t>(3, 0));
}

TEST(workloads, powerlaw_has_few_ranks_with_many_peers) {
  int one = 0;
  std::ptrdiff_t most = 0;
  for (int from = 0; from < 200; ++from) {
    const auto peers = 200 - std::ranges::count(row("powerlaw", 200, 10000, from), 0);
    one += peers == 1 ? 1 : 0;
    most = std::max(most, peers);
  }
  EXPECT_GT(one, 70);
  EXPECT_LT(one, 130);
  EXPECT_GT(most, 30);
}

TEST(workloads, send_round_the_ring_when_shifted) {
  EXPECT_EQ(row("shift", 3, 9, 2), (std::vector<count_t>{9, 0, 0}));
  EXPECT_EQ(row("shift:-1", 3, 9, 0), (std::vector<count_t>{0, 0, 9}));
  EXPECT_EQ(row("shift:5", 3, 9, 0), (std::vector<count_t>{0, 0, 9}));
}

TEST(workloads, follow_the_map_when_transposed) {
  constexpr int p = 5;
  for (const count_t m : {3, 10, 23})
    for (int i = 0; i < p; ++i) {
      std::vector<count_t> expected(p);
      for (count_t j = 0; j < m; ++j) ++expected[static_cast<std::size_t>((m * i + j) % p)];
      EXPECT_EQ(row("transpose", p, m, i), expected);
    }
}

TEST(workloads, leave_one_rank_empty) {
  EXPECT_EQ(row("one_empty", 4, 30, 0), std::vector<count_t>(4, 0));
  EXPECT_EQ(row("one_empty", 4, 30, 2), (std::vector<count_t>{10, 10, 0, 10}));
}

TEST(workloads, send_most_to_hot_receivers) {
  EXPECT_EQ(row("hot:2", 4, 1000, 3), (std::vector<count_t>{450, 450, 50, 50}));
}

TEST(workloads, one_row_of_thousands_of_ranks_is_right) {
  for (const generator& g : generators()) {
    const auto blocks = workload::parse(example(g)).row({4096, 1 << 20, 1}, 4095);
    EXPECT_EQ(sum(blocks), g.name == "empty" ? 0 : 1 << 20) << g.name;
  }
}

TEST(workloads, bad_names_and_parameters_are_told) {
  const auto message = [](const char* text) -> std::string {
    try {
      static_cast<void>(workload::parse(text));
    } catch (const bad_workload& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message("unifrom").find("unknown workload 'unifrom'; known are uniform, random, zipf[:s], sparse:k"),
            std::string::npos)
      << message("unifrom");
  EXPECT_EQ(message("uniform:3"), "workload uniform takes no parameter");
  EXPECT_EQ(message("sparse"), "workload sparse needs a parameter: sparse:k");
  EXPECT_EQ(message("sparse:0"), "workload sparse: 0 is below 1");
  EXPECT_EQ(message("hot:x"), "workload hot: 'x' is not a number");
  EXPECT_EQ(message("hot:"), "workload hot: '' is not a number");
  EXPECT_EQ(message("shift:1.5"), "workload shift: '1.5' is not a whole number of at most 10^9");
  EXPECT_EQ(message("zipf:-1"), "workload zipf: -1 is below 0");
  EXPECT_EQ(message("zipf:nan"), "workload zipf: 'nan' is not a number");
}

}  // namespace
}  // namespace taquin::workloads
