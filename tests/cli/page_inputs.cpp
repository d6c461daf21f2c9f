#include "cli/page_inputs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace taquin::cli {
namespace {

using nlohmann::json;
using workloads::byte_matrix;
using workloads::call_kind;
using workloads::recorded_call;
using workloads::traffic;

traffic two_calls() {
  traffic t;
  t.program = "p";
  t.ranks = 3;
  t.communicators = {{0, 1, 2}};
  t.matrices = {
      byte_matrix(3, {{0, 1, 8}, {2, 0, 24}}),
      byte_matrix(3,
                  {{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {1, 1, 1}, {1, 2, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1}})};
  t.calls = {{.matrix = 0, .kind = call_kind::alltoallv, .repeats = 2, .seconds = {1, 2, 3}},
             {.matrix = 1, .kind = call_kind::alltoall, .repeats = 5, .seconds = {1, 1, 1}}};
  return t;
}

TEST(page_traffic, adds_up_calls_of_a_kind_with_their_repeats) {
  const json j = page_traffic(two_calls(), 0);
  ASSERT_EQ(j["sites"].size(), 2U);
  const json& v = j["sites"][0];
  EXPECT_EQ(v["calls"], 2);
  EXPECT_EQ(v["bytes"], 64);
  EXPECT_EQ(v["seconds"], 4);
  EXPECT_EQ(v["sent"], json({16, 0, 48}));
  EXPECT_EQ(v["received"], json({48, 16, 0}));
  EXPECT_EQ(v["sizes"], json({{0, 14, 0}, {8, 2, 16}, {16, 2, 48}}));
  EXPECT_EQ(j["sites"][1]["bytes"], 45);
}

TEST(page_traffic, tells_waiting_where_the_recording_does_and_null_where_not) {
  traffic t = two_calls();
  EXPECT_TRUE(page_traffic(t, 0)["sites"][0]["waiting"].is_null());
  EXPECT_TRUE(page_traffic(t, 0)["calls"][0][7].is_null());
  t.calls[0].seconds.waiting = 0.5;
  const json j = page_traffic(t, 0);
  EXPECT_EQ(j["sites"][0]["waiting"], 1);
  EXPECT_EQ(j["sites"][1]["waiting"], 0);
  EXPECT_EQ(j["calls"][0][7], 0.5);
}

TEST(page_traffic, takes_the_shortest_form_of_a_matrix) {
  const json j = page_traffic(two_calls(), 0);
  EXPECT_EQ(j["group"], 1);
  EXPECT_EQ(j["matrices"][0]["flows"], json({0, 1, 8, 2, 0, 24}));
  EXPECT_EQ(j["matrices"][1]["uniform"], 1);
}

traffic ring(int ranks) {
  traffic t;
  t.ranks = ranks;
  std::vector<byte_matrix::flow> flows;
  t.communicators.emplace_back();
  for (int r = 0; r < ranks; ++r) {
    t.communicators[0].push_back(r);
    flows.push_back({r, (r + 1) % ranks, 10});
  }
  t.matrices = {byte_matrix(ranks, std::move(flows))};
  t.calls = {recorded_call{}};
  return t;
}

TEST(page_traffic, groups_4096_ranks_by_nodes_and_keeps_every_byte) {
  for (const int per_node : {0, 48}) {
    const json j = page_traffic(ring(4096), per_node);
    EXPECT_EQ(j["group"], per_node == 0 ? 4 : 48);
    const auto cells = j["matrices"][0]["cells"].get<std::vector<double>>();
    const auto n = static_cast<std::size_t>(per_node == 0 ? 1024 : 86);
    ASSERT_EQ(cells.size(), n * n);
    double sum = 0;
    for (const double c : cells) sum += c;
    EXPECT_EQ(sum, 40960);
    EXPECT_EQ(cells[0], per_node == 0 ? 30 : 470);
    EXPECT_EQ(cells[1], 10);
    EXPECT_EQ(j["sites"][0]["sent"].size(), 4096U);
  }
}

TEST(page_traffic, does_not_group_1024_ranks) { EXPECT_EQ(page_traffic(ring(1024), 16)["group"], 1); }

// The kind of the file of this content, or why it has none.
std::string kind_of(const std::string& content) {
  const auto path = (std::filesystem::temp_directory_path() / fmt::format("page_input_{}.json", getpid())).string();
  std::ofstream(path, std::ios::binary) << content;
  std::string kind;
  try {
    kind = read_page_input(path, 0)["kind"].get<std::string>();
  } catch (const invalid_file& e) {
    kind = e.what();
  }
  std::remove(path.c_str());
  return kind;
}

TEST(page_inputs, tells_files_apart_by_their_content) {
  EXPECT_EQ(kind_of(R"([{"algorithm": "pairwise", "ranks": 4, "median_s": 1e-5}])"), "records");
  EXPECT_EQ(kind_of(R"([{"algorithm": "pairwise", "ranks": 4, "formula_s": 1e-5}])"), "predictions");
  EXPECT_EQ(kind_of(R"({"taquin_plan": 1, "algorithm": "x", "ranks": 2, "rounds": []})"), "plan");
  EXPECT_EQ(kind_of(R"({"taquin_report": 1, "ranks": 2, "sites": []})"), "report");
  EXPECT_EQ(kind_of(R"({"taquin_traffic": 1, "program": "", "ranks": 1, "communicators": [], "matrices": [],
                        "calls": []})"),
            "traffic");
}

TEST(page_inputs, says_where_a_file_is_wrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty file"},
      {"  \n", "empty file"},
      {"{", "damaged at byte 2"},
      {"# TYPE taquin_calls counter\n# HELP taquin_calls All-to-all calls.\n# EOF\n",
       "is a file of metrics, for what reads"},
      {"# TYPE node_load1 gauge\n", "damaged at byte 1"},
      {"7", "nothing that taquin writes"},
      {"{}", "nothing that taquin writes"},
      {"[]", "holds no record"},
      {R"([{"ranks": 4}])", "records[0] has no \"algorithm\""},
      {R"([{"algorithm": "x", "ranks": 4, "median_s": -1}])", "records[0].median_s is -1"},
      {R"([{"algorithm": "x", "ranks": 4, "ci95_s": [2, 1]}])", "the wrong way round"},
      {R"([{"algorithm": "x", "ranks": 1.5}])", "records[0].ranks is 1.5, not a whole number"},
      {R"([{"algorithm": 3, "ranks": 1}])", "records[0].algorithm is not a text"},
      {R"([{"algorithm": "x", "ranks": 1, "predicted_s": -1}])", "records[0].predicted_s is -1"},
      {R"([{"algorithm": "x", "ranks": 1, "over_time": {"taquin_plan": 1, "algorithm": "x", "ranks": 1, "steps": [[1]]}}])",
       "records[0].over_time.steps[0] has 1 elements"},
      {R"({"taquin_plan": 1, "algorithm": "x", "ranks": 1, "note": 5})", "note is not a text"},
      {R"({"taquin_traffic": 2})", "version 2"},
      {R"({"taquin_plan": 2, "algorithm": "x", "ranks": 1})", R"("taquin_plan" is 2)"},
      {R"({"taquin_report": "1", "ranks": 1, "sites": []})", R"("taquin_report" is "1")"},
      {R"({"taquin_report": 1, "ranks": 2, "sites": [{"form": "alltoall", "calls": 1, "bytes": 1, "seconds": 1,
           "flows": [[0, 2, 1]]}]})",
       "sites[0].flows[0][1] is 2, not within 0 and 1"},
      {R"({"format": "taquin machine profile", "version": 7})", "version 7"}};
  for (const auto& [content, what] : cases)
    EXPECT_NE(kind_of(content).find(what), std::string::npos) << content << "\n" << kind_of(content);
  EXPECT_NE(kind_of(std::string(100000, '[')).find("levels of nesting"), std::string::npos);
}

TEST(page_inputs, no_character_of_the_data_ends_a_script_element) {
  const std::string text = html_safe({{"program", "</script><!-- &amp; \xe2\x80\xa8 \xff"}});
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos) << text;
  EXPECT_EQ(json::parse(text)["program"].get<std::string>().find("</script><!-- &amp;"), 0U);
  for (const char c : text) EXPECT_GE(c, ' ');
}

TEST(page_inputs, a_message_is_one_line) {
  EXPECT_EQ(one_line("a\nb\r\x1b[31m"), "a b  [31m");
  EXPECT_LT(one_line(std::string(100000, 'x')).size(), 400U);
}

}  // namespace
}  // namespace taquin::cli
