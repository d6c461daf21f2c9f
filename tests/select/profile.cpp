#include "select/profile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace taquin::detail {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(profiles, are_the_same_when_written_and_read) {
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

TEST(profiles, know_what_a_line_of_shared_memory_costs) {
  profile p;
  p.model.copy.each = 3e-8;
  p.model.line = 7e-8;
  const std::string text = to_json(p);
  EXPECT_EQ(from_json(text).model.line, 7e-8);
  EXPECT_EQ(from_json(replaced(text, "\"line\"", "\"other\"")).model.line, 3e-8) << "older profiles have none";
  EXPECT_THROW(from_json(replaced(text, "7e-08", "-7e-08")), profile_error);
}

TEST(profiles, tell_how_sure_they_are_and_of_which_machine) {
  profile p;
  p.points.push_back({.algorithm = "pairwise", .ranks = 4, .bytes = 1000, .time = 2e-3, .low = 1e-3, .high = 3e-3});
  p.fits = {{model_kind::loggp, 0, 0.96, 1.5}, {model_kind::plogp, 0, 0.01, 0.02}};
  p.made_on = {"Processor 7", 2, 32, std::uint64_t{1} << 38U, "MPI library v1, MPI 4.0", "eth0 10000 Mbit/s"};
  const std::string text = to_json(p);
  const profile read = from_json(text);
  EXPECT_EQ(to_json(read), text);
  EXPECT_EQ(read.points[0].low, 1e-3);
  EXPECT_EQ(read.points[0].high, 3e-3);
  ASSERT_EQ(read.fits.size(), 2U);
  EXPECT_EQ(read.fits[0].median, 0.96);
  EXPECT_NE(text.find("\"poor\": true"), std::string::npos);
  EXPECT_EQ(read.made_on, p.made_on);
  EXPECT_EQ(words_of(p.made_on),
            "Processor 7, 2 sockets, 32 cores, 256 GiB, MPI library v1, MPI 4.0, eth0 10000 Mbit/s");
  EXPECT_THROW(from_json(replaced(text, "\"level\": 0", "\"level\": 2")), profile_error);
  EXPECT_THROW(from_json(replaced(text, "\"sockets\": 2", "\"sockets\": -2")), profile_error);
  EXPECT_THROW(from_json(replaced(text, "0.003", "0.0003")), profile_error) << "an interval the wrong way round";
}

TEST(profiles, hold_on_the_processor_that_they_were_made_on) {
  profile p;
  p.model.machine = machine_name();
  EXPECT_EQ(made_elsewhere(p), "") << "an older profile: it does not tell its processor";
  p.made_on = this_hardware();
  EXPECT_EQ(made_elsewhere(p), "");
  p.made_on.memory /= 2;
  EXPECT_EQ(made_elsewhere(p), "");
  p.made_on.processor = "Another";
  EXPECT_NE(made_elsewhere(p).find("made on 'Another, "), std::string::npos) << made_elsewhere(p);
  p.model.machine = "1000 cores, none";
  EXPECT_NE(made_elsewhere(p).find("made on '1000 cores, none'"), std::string::npos) << made_elsewhere(p);
}

TEST(profiles, know_processor_and_link_by_what_the_system_tells) {
  std::istringstream cpuinfo(
      "processor\t: 0\nmodel name\t: Fast 9 @ 2GHz\nphysical id\t: 0\n\n"
      "processor\t: 1\nmodel name\t: Fast 9 @ 2GHz\nphysical id\t: 1\n");
  std::istringstream meminfo("MemTotal:       16384 kB\nMemFree: 1 kB\n");
  const hardware h = core_of(cpuinfo, meminfo);
  EXPECT_EQ(h.processor, "Fast 9 @ 2GHz");
  EXPECT_EQ(h.sockets, 2);
  EXPECT_EQ(h.memory, std::uint64_t{16} << 20U);
  std::istringstream nothing;
  EXPECT_EQ(core_of(nothing, nothing), hardware{});

  namespace fs = std::filesystem;
  const fs::path classes = fs::temp_directory_path() / ("taquin-classes-" + std::to_string(getpid()));
  EXPECT_EQ(link_of(classes), "");
  const auto interface = [&](const std::string& name, const std::string& state, const std::string& speed) {
    fs::create_directories(classes / "net" / name);
    std::ofstream(classes / "net" / name / "operstate") << state << '\n';
    std::ofstream(classes / "net" / name / "speed") << speed << '\n';
  };
  interface("lo", "unknown", "");
  interface("eth0", "up", "1000");
  interface("eth1", "up", "10000");
  interface("eth2", "down", "40000");
  EXPECT_EQ(link_of(classes), "eth1 10000 Mbit/s");
  fs::create_directories(classes / "infiniband" / "mlx5_0" / "ports" / "1");
  std::ofstream(classes / "infiniband" / "mlx5_0" / "ports" / "1" / "rate") << "200 Gb/sec (4X HDR)\n";
  EXPECT_EQ(link_of(classes), "mlx5_0 200 Gb/sec (4X HDR)");
  fs::remove_all(classes);
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

TEST(profiles, that_have_rules_alone_are_for_any_machine) {
  const profile p = from_json(R"({"rules": [{"algorithm": "native", "site": "the_exchange"}]})");
  ASSERT_EQ(p.rules.size(), 1U);
  EXPECT_EQ(p.rules.front().site, "the_exchange");
  EXPECT_EQ(made_elsewhere(p), "");
  EXPECT_THROW(from_json(R"({"rules": [{"algorithm": "magic"}]})"), profile_error);
  EXPECT_THROW(from_json(R"({"rules": 7})"), profile_error);
}

TEST(profiles, that_are_damaged_or_absurd_are_refused) {
  const std::string good = to_json(profile{});
  EXPECT_NO_THROW(from_json(good));
  EXPECT_THROW(from_json(good.substr(0, good.size() / 2)), profile_error);
  const auto fault = [](const std::string& text) {
    try {
      from_json(text);
    } catch (const profile_error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  for (const char* foreign : {"{}", "[]", "7", "null", "\"a\"", R"({"format": "another"})", R"({"format": 7})"})
    EXPECT_EQ(fault(foreign), "not a machine profile") << foreign;
  EXPECT_EQ(fault(R"({"taquin_traffic": 1})"),
            "not a machine profile, but a recording, for --traffic and taquin report");
  EXPECT_EQ(fault("# TYPE taquin_calls counter\n").find("is a file of metrics"), 0U);
  for (const char* none : {"", " \n"}) EXPECT_EQ(fault(none), "empty file");
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
