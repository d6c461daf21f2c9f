// Traffic files: written files can be read again, and damage is reported.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "workloads/traffic.hpp"

namespace {

using namespace taquin::workloads;
using taquin::count_t;

class traffic_file : public testing::Test {
 protected:
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("taquin_traffic_" + std::to_string(getpid()));
  ~traffic_file() override { std::filesystem::remove(path); }

  void put(const std::string& text) const { std::ofstream(path) << text; }

  // The text of the error that reading this file gives.
  [[nodiscard]] std::string fault(const std::string& text) const {
    put(text);
    try {
      read_traffic(path);
    } catch (const traffic_error& e) {
      return e.what();
    }
    return "read without error";
  }
};

traffic sample() {
  traffic t;
  t.program = "program with \"quotes\" -n 3";
  t.ranks = 5;
  t.communicators = {{0, 1, 2, 3, 4}, {4, 2}};
  std::vector<byte_matrix::flow> all;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) all.push_back({i, j, 24});
  t.matrices = {byte_matrix(5, {{0, 4, 1099511627776}, {3, 0, 8}}), byte_matrix(5, all),
                byte_matrix(2, {{0, 0, 16}, {0, 1, 8}, {1, 0, 24}}), byte_matrix(2, {})};
  t.calls = {{0, 0, call_kind::alltoallv, 8, false, call_form::blocking, 0, 1, {0.5, 0.5, 0.5}},
             {0, 1, call_kind::alltoall, 24, true, call_form::blocking, 0, 1000000, {1e-6, 2e-6, 0.25}},
             {1, 2, call_kind::alltoallw, 4, false, call_form::nonblocking, 2, 3, {}},
             {1, 3, call_kind::alltoallv, 1, false, call_form::blocking, 0, 1, {}},
             {1, 3, call_kind::sparse, 1, false, call_form::persistent, 0, 2, {}}};
  return t;
}

TEST_F(traffic_file, reads_what_was_written) {
  write_traffic(sample(), path);
  EXPECT_EQ(read_traffic(path), sample());
}

TEST_F(traffic_file, gives_the_matrix_of_a_rank) {
  const byte_matrix m(3, {{0, 1, 5}, {0, 2, 7}, {2, 0, 9}});
  EXPECT_EQ(m.at(0, 2), 7);
  EXPECT_EQ(m.at(2, 2), 0);
  EXPECT_EQ(m.sent_by(0), (std::vector<taquin::count_t>{0, 5, 7}));
  EXPECT_EQ(m.sent_by(1), (std::vector<taquin::count_t>{0, 0, 0}));
  EXPECT_EQ(m.received_by(0), (std::vector<taquin::count_t>{0, 0, 9}));
  EXPECT_EQ(m.total(), 21);
  EXPECT_EQ(m.most_sent(), 12);
}

// A file with one matrix and one call, of which a part is replaced.
std::string file_with(const std::string& part, const std::string& replacement) {
  std::string text =
      R"({"taquin_traffic":1,"program":"p","ranks":2,"communicators":[{"world_ranks":[0,1]}],)"
      R"("matrices":[{"ranks":2,"rows":[[8,16],[0,24]]}],)"
      R"("calls":[{"communicator":0,"kind":"alltoallv","matrix":0,"element_bytes":8,"in_place":false,"repeats":1,)"
      R"("seconds":{"min":0,"mean":0,"max":0}}]})";
  const auto at = text.find(part);
  if (at == std::string::npos) throw std::logic_error("no such part: " + part);
  return text.replace(at, part.size(), replacement);
}

TEST_F(traffic_file, is_read_when_undamaged) {
  put(file_with("8,16", "8,16"));
  EXPECT_EQ(read_traffic(path).matrices[0].at(0, 1), 16);
}

TEST_F(traffic_file, another_file_of_taquin_is_named) {
  const std::pair<const char*, const char*> cases[] = {
      {"# TYPE taquin_calls counter\n", "is a file of metrics"},
      {"\n\x10\xe2\x03", "is a trace: open it at ui.perfetto.dev"},
      {R"({"taquin_report": 1})", "not a traffic file, but a run's report, for taquin report"},
      {R"({"taquin_plan": 1})", "not a traffic file, but a plan"},
      {R"({"format": "taquin machine profile"})", "not a traffic file, but a machine profile, for TAQUIN_PROFILE"},
      {R"([{"algorithm": "pairwise"}])", "not a traffic file, but a record of measurements"}};
  for (const auto& [text, what] : cases) EXPECT_NE(fault(text).find(what), std::string::npos) << fault(text);
}

TEST_F(traffic_file, is_refused_when_damaged) {
  const struct {
    const char* part;
    const char* replacement;
    const char* message;
  } cases[] = {
      {"{\"taquin_traffic\"", "{\"other\"", "not a traffic file"},
      {"traffic\":1", "traffic\":2", "version 2 of the format; this program reads version 1"},
      {"\"ranks\":2,\"comm", "\"ranks\":0,\"comm", "ranks is 0, not within"},
      {"\"ranks\":2,\"comm", "\"comm", "has no \"ranks\""},
      {"[0,1]", "[0,2]", "a rank is 2, not within 0 to 1"},
      {"[0,1]", "[1,1]", "communicators[0] has rank 1 twice"},
      {"[0,1]", "[]", "communicators[0] has no ranks"},
      {"[0,1]", "[0]", "matrix 0 is for 2 ranks, communicator 0 has 1"},
      {"8,16", "8,-16", "matrices[0].rows[0][1] is -16, not within"},
      {"8,16", "8,1.5", "matrices[0].rows[0][1] is not an integer: 1.5"},
      {"8,16", "8,18446744073709551615", "is 18446744073709551615, not within"},
      {"8,16", "9223372036854775807,9223372036854775807", "the sum of its bytes is over 2^63"},
      {"8,16", "8,16,0", "matrices[0].rows[0] has 3 columns for 2 ranks"},
      {"[8,16],", "", "matrices[0] has 1 rows for 2 ranks"},
      {"\"rows\":[[8,16],[0,24]]", "\"flows\":[[0,2,8]]", "a flow's receiver is 2, not within 0 to 1"},
      {"\"rows\":[[8,16],[0,24]]", "\"flows\":[[0,1,8],[0,1,8]]", "two flows between the same ranks"},
      {"\"rows\":[[8,16],[0,24]]", "\"flows\":[[0,1]]", "a flow is not [from, to, bytes]"},
      {"\"rows\":[[8,16],[0,24]]", "\"flows\":8", "matrices[0].flows is not an array"},
      {"\"ranks\":2,\"rows\"", "\"ranks\":3,\"rows\"", "matrices[0].ranks is 3, not within 1 to 2"},
      {"\"matrix\":0", "\"matrix\":1", "calls[0].matrix is 1, not within 0 to 0"},
      {"\"communicator\":0", "\"communicator\":-1", "calls[0].communicator is -1"},
      {"alltoallv", "alltoallx", "calls[0].kind is not known: \"alltoallx\""},
      {"bytes\":8", "bytes\":0", "calls[0].element_bytes is 0"},
      {"bytes\":8", "bytes\":5", "8 bytes from rank 0 to 0 are not whole elements of 5 bytes"},
      {"repeats\":1", "repeats\":0", "calls[0].repeats is 0"},
      {"false", "0", "calls[0].in_place is neither true nor false"},
      {"\"mean\":0", "\"mean\":-1", "calls[0].seconds.mean is not a time: -1"},
      {"\"calls\":[", "\"calls\":[3,", "calls[0] is not an object"},
      {"}]}", "}]", "damaged at byte"},
      {"\"program\":\"p\"", "\"program\":7", "program is not a string"},
  };
  for (const auto& c : cases) {
    const std::string text = fault(file_with(c.part, c.replacement));
    EXPECT_NE(text.find(c.message), std::string::npos) << c.part << " as " << c.replacement << " gives: " << text;
    EXPECT_NE(text.find(path.string()), std::string::npos) << text;
  }
}

TEST_F(traffic_file, huge_uniform_matrices_are_refused) {
  EXPECT_NE(fault(R"({"taquin_traffic":1,"program":"","ranks":1048576,"communicators":[],"calls":[],)"
                  R"("matrices":[{"ranks":1048576,"uniform":1}]})")
                .find("is uniform over 1048576 ranks"),
            std::string::npos);
}

// A few bytes of a file stand for all pairs of ranks: of all uniform matrices together there are not too many.
TEST_F(traffic_file, uniform_matrices_take_a_bounded_amount_of_memory) {
  const auto with = [](int matrices) {
    std::string all;
    for (int i = 0; i < matrices; ++i) all += std::string(i > 0 ? "," : "") + R"({"ranks":1448,"uniform":1})";
    return R"({"taquin_traffic":1,"program":"","ranks":4096,"communicators":[],"calls":[],"matrices":[)" + all + "]}";
  };
  EXPECT_EQ(fault(with(2)), "read without error");
  EXPECT_NE(
      fault(with(3)).find("matrices[2] is uniform over 1448 ranks: the uniform matrices of a file may have 4194304"),
      std::string::npos);
}

// Those above that number are written as what they are.
TEST_F(traffic_file, any_number_of_uniform_matrices_is_written_and_read_again) {
  traffic t;
  t.ranks = 1600;
  for (count_t bytes = 1; bytes < 4; ++bytes) {
    std::vector<byte_matrix::flow> all;
    for (int i = 0; i < t.ranks; ++i)
      for (int j = 0; j < t.ranks; ++j) all.push_back({i, j, bytes});
    t.matrices.emplace_back(t.ranks, std::move(all));
  }
  write_traffic(t, path);
  EXPECT_EQ(read_traffic(path), t);
}

TEST_F(traffic_file, nested_too_deeply_is_told) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_NE(fault(file_with("\"alltoallv\"", deep)).find("levels of nesting"), std::string::npos);
}

TEST_F(traffic_file, is_reported_when_missing) {
  std::filesystem::remove(path);
  EXPECT_THROW(read_traffic(path), traffic_error);
  EXPECT_THROW(read_traffic(std::filesystem::temp_directory_path()), traffic_error);
  EXPECT_THROW(write_traffic(sample(), path / "below" / "nothing"), traffic_error);
}

// One of each of the programs that the documentation lists, on 4 ranks.
TEST(recordings, that_are_shipped_can_be_read) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TAQUIN_RECORDINGS)) {
    if (entry.path().extension() != ".json") continue;
    const traffic t = read_traffic(entry.path());
    EXPECT_EQ(t.ranks, 4) << entry.path();
    EXPECT_FALSE(t.calls.empty()) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 4);
}

}  // namespace
