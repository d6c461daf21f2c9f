#include "select/profile.hpp"

#include <gtest/gtest.h>

#include <string>

namespace taquin::detail {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(profiles, survive_writing_and_reading) {
  profile p;
  machine_model& m = p.model;
  m.machine = "a \"machine\"";
  m.ranks = 8;
  m.kind = model_kind::plogp;
  p.points.push_back({.algorithm = "pairwise", .ranks = 4, .skew = 1, .bytes = 1000, .time = 1e-3, .predicted = 2e-3});
  p.points.push_back({.algorithm = "pairwise", .ranks = 4, .bytes = 2000, .time = 1e-3});
  const std::string text = to_json(p);
  EXPECT_EQ(to_json(from_json(text)), text);
  EXPECT_EQ(from_json(text).points[0].predicted, 2e-3);
  EXPECT_NO_THROW(from_json(replaced(text, "\"predicted\"", "\"other\""))) << "older profiles have none";
}

TEST(profiles, hold_rules) {
  profile p;
  p.rules.push_back({.algorithm = "pairwise",
                     .kind = exchange::form::alltoallw,
                     .in_place = false,
                     .reused = true,
                     .ranks = 4,
                     .nodes = 2,
                     .least_bytes = 10,
                     .most_bytes = 20});
  p.rules.push_back({.algorithm = "native", .site = "solve"});
  const std::string text = to_json(p);
  const profile read = from_json(text);
  EXPECT_EQ(to_json(read), text);
  ASSERT_EQ(read.rules.size(), 2U);
  EXPECT_EQ(read.rules[0].kind, exchange::form::alltoallw);
  EXPECT_EQ(read.rules[0].most_bytes, 20);
  EXPECT_EQ(read.rules[1].site, "solve");
  EXPECT_FALSE(read.rules[1].kind.has_value());
  EXPECT_THROW(from_json(replaced(text, "\"pairwise\"", "\"magic\"")), profile_error);
  EXPECT_THROW(from_json(replaced(text, "\"most_bytes\": 20.0", "\"most_bytes\": 2.0")), profile_error);
  EXPECT_THROW(from_json(replaced(text, "\"reused\"", "\"used\"")), profile_error) << "a word that nobody knows";
  EXPECT_EQ(from_json(replaced(text, "\"site\"", "\"nodes\": 2, \"site\"")).rules[1].nodes, 2);
}

TEST(profiles, that_are_damaged_or_absurd_are_refused) {
  const std::string good = to_json(profile{});
  EXPECT_NO_THROW(from_json(good));
  EXPECT_THROW(from_json(""), profile_error);
  EXPECT_THROW(from_json("{}"), profile_error);
  EXPECT_THROW(from_json(good.substr(0, good.size() / 2)), profile_error);
  const auto fault = [](const std::string& text) {
    try {
      from_json(text);
    } catch (const profile_error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(good.substr(0, 1)), "damaged at byte 2");
  EXPECT_EQ(fault(replaced(good, "\"ports\"", "\"part\"")), "damaged: there is no field 'ports'");
  EXPECT_EQ(fault(replaced(good, "\"machine\": \"\"", "\"machine\": 5")),
            "damaged: a field holds another kind of value than it should");
  EXPECT_THROW(from_json(replaced(good, "\"version\": 1", "\"version\": 2")), profile_error);
  EXPECT_THROW(from_json(replaced(good, "\"ports\": 1", "\"ports\": 0")), profile_error);
  EXPECT_THROW(from_json(replaced(good, "\"loggp\"", "\"other\"")), profile_error);
  EXPECT_THROW(from_json(replaced(good, "\"tau\": ", "\"tau\": -")), profile_error);
  EXPECT_THROW(from_json(replaced(good, "\"mu\": ", "\"mu\": 1e9")), profile_error);
  for (const char* bad : {"1e300", "-1e300", "1.5", "-1", "99999999999999999999", "4294967297", "\"1\"", "null"})
    EXPECT_THROW(from_json(replaced(good, "\"ports\": 1", std::string("\"ports\": ") + bad)), profile_error) << bad;
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_THROW(from_json(replaced(good, "\"version\": 1", "\"version\": " + deep)), profile_error);
  EXPECT_THROW(read_profile("no/such/file"), profile_error);
}

}  // namespace
}  // namespace taquin::detail
