// taquin run --traffic.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

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

// A recording is one measurement: it has no sizes of which some are finished.
TEST(replay, an_interrupted_one_keeps_what_it_has_measured_and_says_that_it_is_a_part) {
  workloads::traffic t;
  t.program = "example";
  t.ranks = 1;
  t.communicators = {{0}};
  t.matrices = {byte_matrix(1, {{0, 0, 100000}})};
  t.calls.push_back({.communicator = 0, .matrix = 0, .kind = call_kind::alltoallv, .repeats = 10});
  const file f(t);
  const auto kept = interrupted(0, "run -a spread_out,pairwise --reps 10000000 --json '{}' --traffic " + f.path,
                                [](const nlohmann::json& all) { return all.is_array() && !all.empty(); });
  ASSERT_EQ(kept.size(), 3U) << kept;
  for (const auto& one : kept) {
    EXPECT_EQ(one["partial"], true) << one;
    EXPECT_GT(one["repetitions"], 0) << one;
    EXPECT_GT(one["median_s"], 0) << one;
    EXPECT_EQ(one["wrong_bytes"], 0) << one;
  }
  EXPECT_EQ(kept[1]["messages"], 0) << "of one exchange";
  const auto whole = taquin(0, "run -a spread_out --reps 2 --json - --traffic " + f.path);
  for (const auto& one : whole.json()) EXPECT_FALSE(one.contains("partial")) << one;
}

TEST(replay, leaves_sparse_exchanges_out) {
  auto t = recording();
  t.calls.insert(t.calls.begin() + 1, {.communicator = 0, .matrix = 1, .kind = call_kind::sparse, .repeats = 5});
  const file f(t);
  const auto r = taquin(3, "run -a spread_out --reps 1 --json - --traffic " + f.path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.json()[1]["messages"], 2 + 3 + 1);
  t.calls = {t.calls[1]};
  const file only(t);
  const auto refused = taquin(3, "run -a spread_out --traffic " + only.path);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(refused.said("holds sparse exchanges only, which are not replayed")) << refused.err;
}

TEST(replay, a_recording_s_name_need_not_be_utf_8) {
  const file f(recording());
  const std::string odd = temporary_path("\xff.json");
  std::filesystem::copy_file(f.path, odd);
  const auto r = taquin(3, "run -a spread_out --reps 1 --json - --traffic '" + odd + "'");
  std::filesystem::remove(odd);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.json().size(), 2U);
}

// Two communicators of different ranks run side by side: rank 0 of the world takes part in both.
TEST(replay, tells_the_time_of_the_rank_with_the_most_as_the_page_does) {
  auto t = recording();
  t.communicators.push_back({1});
  t.matrices.push_back(byte_matrix(1, {}));
  t.calls.push_back({.communicator = 2, .matrix = 3, .kind = call_kind::alltoallv});
  for (auto& call : t.calls) call.seconds = {1, 1, 1, 0};
  t.calls.back().seconds = {2.5, 2.5, 2.5, 0};
  const file f(t);
  const auto r = taquin(3, "run -a spread_out --reps 1 --traffic " + f.path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(occurrences(r.out, "6 calls on 3 ranks, 6.500 s in them when they were recorded"), 1) << r.out;
}

TEST(replay, the_model_s_word_is_the_sum_over_all_calls) {
  const auto predicted = [](const workloads::traffic& t, const std::string& algorithms) {
    const file f(t);
    const auto r = taquin(3, "run --reps 1 --json - --traffic " + f.path + " -a " + algorithms);
    std::map<std::string, double> of;
    EXPECT_EQ(r.status, 0) << r.err;
    for (const auto& one : r.json())
      of[one.value("asked", one.value("algorithm", ""))] = one.value("predicted_s", -1.0);
    return of;
  };
  EXPECT_GT(predicted(recording(), "basic_bruck")["basic_bruck"], 0) << "auto does the calls that it does not serve";
  const auto all = predicted(recording(), "pairwise,auto");
  EXPECT_EQ(all.size(), 3U);
  std::map<std::string, double> sums;
  for (const auto& call : recording().calls) {
    auto one = recording();
    one.calls = {call};
    for (const auto& [name, time] : predicted(one, "pairwise,auto")) sums[name] += time;
  }
  for (const auto& [name, time] : all) {
    EXPECT_GT(time, 0) << name;
    EXPECT_NEAR(sums[name], time, time * 1e-9) << name;
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

// Two concurrent nonblocking calls, one of them often and on a part of the ranks, then one that waits for nothing; and
// calls between neighbours.
TEST(replay, calls_that_were_in_flight_together_are_so_again) {
  using workloads::call_form;
  auto t = recording();
  t.calls = {
      {.communicator = 0, .matrix = 1, .kind = call_kind::alltoallv, .form = call_form::nonblocking},
      {.communicator = 1,
       .matrix = 2,
       .kind = call_kind::alltoallw,
       .form = call_form::nonblocking,
       .in_flight = 1,
       .repeats = 4},
      {.communicator = 0,
       .matrix = 0,
       .kind = call_kind::alltoall,
       .in_place = true,
       .form = call_form::nonblocking,
       .in_flight = 2,
       .repeats = 3},
      {.communicator = 0, .matrix = 1, .kind = call_kind::alltoallv, .in_flight = 1},
      {.communicator = 0,
       .matrix = 1,
       .kind = call_kind::neighbor_alltoallv,
       .form = call_form::persistent,
       .in_flight = 2,
       .repeats = 2},
      {.communicator = 1, .matrix = 2, .kind = call_kind::neighbor_alltoall},
  };
  const file f(t);
  const auto r = taquin(3, "run -a spread_out,pairwise,auto --reps 2 --json - --traffic " + f.path);
  ASSERT_EQ(r.status, 0) << r.err;
  ASSERT_EQ(r.json().size(), 4U);
  for (const auto& one : r.json()) {
    EXPECT_EQ(one["wrong_bytes"], 0) << one;
    EXPECT_GT(one.value("predicted_s", 0.0), 0) << one;
  }
}

TEST(replay, auto_does_the_calls_that_an_algorithm_does_not_serve_and_their_number_is_told) {
  const file f(recording());
  const auto r = taquin(3, "run -a all,in_place --reps 2 --json - --traffic " + f.path);
  EXPECT_EQ(r.status, 1) << "in_place was named and serves nothing";
  bool bruck = false;
  bool in_place = false;
  for (const auto& one : r.json()) {
    if (one["algorithm"] == "lean_bruck") {
      bruck = true;
      EXPECT_EQ(one["by_default"], 4) << "all but the alltoall";
      EXPECT_EQ(one["wrong_bytes"], 0);
    }
    if (one["algorithm"] == "in_place") {
      in_place = true;
      EXPECT_TRUE(one["reason"].get<std::string>().starts_with("serves none of the calls: ")) << one;
    }
  }
  EXPECT_TRUE(bruck);
  EXPECT_TRUE(in_place);
  EXPECT_TRUE(r.said("lean_bruck: does not serve 4 of the calls")) << r.err;
}

// Sizes that a line counts, or whose own line it is.
int sizes_without_rule(const std::string& text) {
  const std::string begin = "no rule for ";
  int sizes = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    std::istringstream line(text.substr(at + begin.size(), text.find('\n', at) - at - begin.size()));
    int number = 0;
    std::string unit;
    line >> number >> unit;
    sizes += unit == "sizes" ? number : 1;
  }
  return sizes;
}

// Each size of a kind of call has a rule, or a line that says why there is none.
TEST(replay, tune_writes_a_rule_for_a_recording_s_calls_or_says_why_not) {
  auto t = recording();
  t.calls.back().form = workloads::call_form::nonblocking;
  const file f(t);
  const std::string path = temporary_path("rules.json");
  const auto r = taquin(3, "tune --reps 4 --traffic " + f.path + " -o " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  const auto profile = nlohmann::json::parse(std::ifstream(path));
  const auto rules = profile.value("rules", nlohmann::json::array());
  EXPECT_EQ(static_cast<int>(rules.size()) + sizes_without_rule(r.out), 3) << r.out;
  for (const auto& rule : rules) {
    EXPECT_EQ(rule["reused"], rule["collective"] == "alltoallw");
    EXPECT_EQ(rule["nodes"], 1);
    EXPECT_EQ(rule["ranks"], rule["collective"] == "alltoallw" ? 2 : 3);
    EXPECT_LT(rule["least_bytes"], rule["most_bytes"]);
  }
  EXPECT_TRUE(profile["measured"].empty()) << "where there is no rule, auto is to decide as before";
  std::filesystem::remove(path);
}

// As calls match rules: with the nodes of TAQUIN_NODES.
TEST(replay, tune_counts_the_nodes_that_rules_are_for) {
  const file f(recording());
  const std::string path = temporary_path("rules.json");
  setenv("TAQUIN_NODES", "2,1", 1);
  const auto r = taquin(3, "tune --reps 4 --traffic " + f.path + " -o " + path);
  unsetenv("TAQUIN_NODES");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto rules = nlohmann::json::parse(std::ifstream(path)).value("rules", nlohmann::json::array());
  for (const auto& rule : rules) EXPECT_EQ(rule["nodes"], 2) << rule;
  EXPECT_EQ(occurrences(r.out, "no rule for"), occurrences(r.out, " ranks, 2 nodes")) << r.out;
  EXPECT_GT(rules.size() + static_cast<std::size_t>(occurrences(r.out, "no rule for")), 0U);
  std::filesystem::remove(path);
}

// The file is a profile from the first exchange on.
TEST(replay, an_interrupted_tune_keeps_what_it_has_measured) {
  const auto has = [](const char* what) {
    return [what](const nlohmann::json& p) { return p.contains(what) && !p[what].empty(); };
  };
  const auto grid = interrupted(2, "tune --reps 4 -b 8..4M --step 1 -o '{}'", has("measured"));
  EXPECT_EQ(grid["format"], "taquin machine profile");
  EXPECT_FALSE(grid["levels"][0]["plogp"]["points"].empty()) << "the constants alone would be refused";
  EXPECT_FALSE(grid["measured"].empty());
}

TEST(replay, tune_writes_no_rule_from_fewer_than_four_samples) {
  const file f(recording());
  const std::string path = temporary_path("rules.json");
  const auto r = taquin(3, "tune --reps 3 --traffic " + f.path + " -o " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(sizes_without_rule(r.out), 3) << r.out;
  EXPECT_GT(occurrences(r.out, "(fewer than 4 samples) are not told apart; auto decides"), 0) << r.out;
  EXPECT_FALSE(nlohmann::json::parse(std::ifstream(path)).contains("rules"));
  std::filesystem::remove(path);
}

TEST(replay, a_recording_without_calls_is_an_error) {
  auto t = recording();
  t.calls.clear();
  const file f(t);
  for (const char* command : {"run", "explain"}) {
    const auto r = taquin(3, std::string(command) + " --traffic " + f.path);
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(occurrences(r.err, "holds no calls"), 1) << r.err;
  }
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
