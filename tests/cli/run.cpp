// taquin run from outside: what its records hold, and how it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "algorithms/algorithm.hpp"
#include "base/option_table.hpp"
#include "program.hpp"

namespace taquin::cli {
namespace {

void expect_record(const nlohmann::json& r, int ranks) {
  EXPECT_EQ(r["ranks"], ranks);
  for (const char* text : {"algorithm", "workload"}) EXPECT_TRUE(r[text].is_string()) << text << r;
  for (const char* number : {"bytes_per_rank", "peak_memory", "rounds", "messages", "bytes_sent", "bytes_copied"})
    EXPECT_TRUE(r[number].is_number_unsigned()) << number << r;
  EXPECT_TRUE(r["in_place"].is_boolean());
  EXPECT_TRUE(r["memory_limit"].is_null() || r["memory_limit"].is_number());
  ASSERT_EQ(r["ci95_s"].size(), 2U);
  EXPECT_LE(r["ci95_s"][0], r["median_s"]);
  EXPECT_GE(r["ci95_s"][1], r["median_s"]);
  EXPECT_GT(r["median_s"], 0.0);
  EXPECT_GT(r["ratio_to_native"], 0.0);
  EXPECT_EQ(r["wrong_bytes"], 0);
}

std::set<std::string> names(const nlohmann::json& records) {
  std::set<std::string> all;
  for (const auto& r : records) all.insert(r["algorithm"].get<std::string>());
  return all;
}

TEST(run_records, standard_output_holds_json_alone_and_all_runs_every_algorithm_that_serves) {
  for (const int ranks : {0, 3}) {
    const auto r = taquin(ranks, "run -a all -b 6K --reps 2 --json -");
    ASSERT_EQ(r.status, 0) << r.err;
    const auto records = r.json();
    for (const auto& one : records) {
      expect_record(one, std::max(ranks, 1));
      EXPECT_EQ(one["bytes_per_rank"], 6144);
      EXPECT_EQ(one["workload"], "uniform");
    }
    for (const char* name : {"native", "spread_out", "pairwise"}) EXPECT_TRUE(names(records).contains(name));
    EXPECT_TRUE(r.said("95% interval")) << "the table goes to standard error";
  }
}

// Hofmann & Rünger, Figure 3 (right): the shares of requests, data and update.
TEST(run_records, in_place_phases_has_the_time_of_its_parts) {
  const auto r = taquin(3, "run -a in_place_phases,in_place -w random -b 64K -m 16K --in-place --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto& one : r.json()) {
    if (one["algorithm"] != "in_place_phases") {
      EXPECT_FALSE(one.contains("phases_s")) << one;
      continue;
    }
    for (const char* part : {"requests", "data", "update"}) EXPECT_GT(one["phases_s"][part].get<double>(), 0) << one;
  }
}

TEST(run_records, mpi_in_place_is_measured_beside_the_mpi_librarys_own) {
  for (const char* kind : {"alltoall", "alltoallv"}) {
    const auto r = taquin(3, std::string("run --mpi-in-place -a auto -b 24K --reps 2 --json - --collective ") + kind);
    ASSERT_EQ(r.status, 0) << r.err;
    ASSERT_EQ(r.json().size(), 2U);
    for (const auto& one : r.json()) {
      expect_record(one, 3);
      EXPECT_EQ(one["buffers"], "MPI_IN_PLACE");
      EXPECT_EQ(one["in_place"], true);
    }
  }
  const auto refused = taquin(3, "run --mpi-in-place -a auto -w random -b 24K");
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(refused.said("MPI_IN_PLACE needs as much from each rank as goes to it")) << refused.err;
}

TEST(run_records, one_record_for_each_size_of_a_range_and_algorithm) {
  const auto r = taquin(2, "run -a pairwise -w random -b 64..256 --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  const auto records = r.json();
  ASSERT_EQ(records.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(records[i]["bytes_per_rank"], 64 << (i / 2));
    EXPECT_EQ(records[i]["algorithm"], i % 2 == 0 ? "native" : "pairwise");
  }
}

TEST(run_records, every_collective_and_workload_is_served_persistent_or_not) {
  for (const char* what :
       {"--collective alltoall --persistent", "--collective alltoallw -w zipf:1.5", "-w sparse:2 --persistent --check",
        "-w empty", "-w self", "-w one_empty", "-w hot:1", "-w transpose --per-pair", "-w shift:2 --in-flight 1"}) {
    const auto r = taquin(3, std::string("run -a spread_out -b 1000 --reps 2 --json - ") + what);
    ASSERT_EQ(r.status, 0) << what << r.err;
    ASSERT_EQ(r.json().size(), 2U) << what;
    for (const auto& one : r.json()) expect_record(one, 3);
  }
}

TEST(run_records, messages_and_bytes_are_counted) {
  const auto r = taquin(4, "run -a spread_out --per-pair -b 100 --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  for (const auto& one : r.json()) {
    EXPECT_EQ(one["messages"], 3);
    EXPECT_EQ(one["bytes_sent"], 300);
    EXPECT_EQ(one["bytes_per_rank"], 400);
  }
  EXPECT_GT(r.json()[1]["peak_memory"], 0);
}

TEST(run_records, the_model_s_word_stands_beside_what_was_measured) {
  for (const char* what : {"", "--persistent", "-w zipf --in-place"}) {
    const auto r = taquin(3, std::string("run -a all,auto -b 3K --reps 1 --json - ") + what);
    ASSERT_EQ(r.status, 0) << what << r.err;
    for (const auto& one : r.json()) EXPECT_GT(one["predicted_s"].get<double>(), 0.0) << what << one;
  }
}

TEST(run_records, in_one_buffer_native_is_measured_out_of_place) {
  const auto r = taquin(3, "run --in-place -w random -b 10K --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.said("native receives into a second buffer, which is not in its peak mem")) << r.err;
  for (const auto& one : r.json()) {
    expect_record(one, 3);
    EXPECT_EQ(one["in_place"], true);
  }
  EXPECT_EQ(r.json()[0]["algorithm"], "native");
}

TEST(run_records, asked_for_auto_the_record_names_what_ran) {
  const auto r = taquin(2, "run -a auto -b 1K --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.json()[1]["asked"], "auto");
  EXPECT_NE(detail::find_algorithm(r.json()[1]["algorithm"].get<std::string>()), nullptr);
}

TEST(run_options, a_limit_too_small_fails_with_both_figures_and_native_is_still_reported) {
  const auto r = taquin(2, "run -a spread_out -m 16 -b 1K --reps 2 --json -");
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(r.said("16 are allowed")) << r.err;
  ASSERT_EQ(r.json().size(), 2U);
  expect_record(r.json()[0], 2);
  const auto left_out = r.json()[1];
  EXPECT_EQ(left_out["algorithm"], "spread_out");
  EXPECT_NE(left_out["reason"].get<std::string>().find("16 are allowed"), std::string::npos) << left_out;
  EXPECT_TRUE(left_out["median_s"].is_null()) << left_out;
}

TEST(run_records, auto_that_takes_native_has_a_row_of_its_own) {
  const auto r = taquin(0, "run -a auto -b 1K --reps 2");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(occurrences(r.out, "\nnative "), 1) << r.out;
  EXPECT_EQ(occurrences(r.out, "\nauto ("), 1) << r.out;
}

TEST(run_options, an_algorithm_that_cannot_serve_has_a_row_and_a_reason) {
  const auto r = taquin(2, "run -a lean_bruck -w random -b 1K --reps 2");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.out, "\nlean_bruck "), 1) << r.out;
  EXPECT_EQ(occurrences(r.out, "\nlean_bruck: "), 1) << r.out;
  const auto in_place = taquin(2, "run -a in_place -b 1K --reps 2");
  EXPECT_EQ(in_place.status, 1);
  EXPECT_EQ(occurrences(in_place.out, "needs --in-place"), 1) << in_place.out;
}

TEST(run_options, a_command_that_there_is_not_is_told_with_the_nearest) {
  const std::pair<const char*, const char*> cases[] = {
      {"wrapp", "taquin: no command 'wrapp'; did you mean wrap?"},
      {"rnu", "did you mean run?"},
      {"nothing_of_the_kind", "known are list, "},
      {"record ./program", "taquin record: -o FILE is missing; see taquin record --help"},
      {"tune", "taquin tune: -o FILE is missing; see taquin tune --help"},
      {"report a.json", "taquin report: -o FILE.html is missing; see taquin report --help"},
      {"report -o a.html", "taquin report: FILE... is missing; see taquin report --help"},
      {"plan -a pairwise", "taquin plan: for how many ranks? Give -n or --nodes"},
      {"plan -n 2", "taquin plan: -a NAME is missing; see taquin plan --help"},
      {"simulate", "taquin simulate: for how many ranks? Give -n or --nodes"},
      {"completion", "taquin completion: SHELL is missing; see taquin completion --help"},
  };
  for (const auto& [arguments, message] : cases) {
    const auto r = taquin(0, arguments);
    EXPECT_EQ(r.status, 2) << arguments;
    EXPECT_EQ(occurrences(r.err, message), 1) << arguments << ": " << r.err;
  }
}

TEST(run_options, a_limit_in_percent_is_of_what_a_rank_sends) {
  const auto r = taquin(2, "run -a spread_out -m 50% -b 64K --reps 2 --json -");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.json()[1]["memory_limit"], 32768);
  EXPECT_LE(r.json()[1]["peak_memory"], 32768);
}

TEST(run_options, json_goes_to_a_file_and_the_table_to_standard_output) {
  const std::string path = temporary_path("records.json");
  const auto r = taquin(2, "run -a pairwise -b 1K --reps 2 --json " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(path)).size(), 2U);
  EXPECT_EQ(occurrences(r.out, "\npairwise "), 1) << r.out;
  std::filesystem::remove(path);
}

TEST(run_options, wrong_arguments_are_told_once_with_status_2) {
  const std::pair<const char*, const char*> cases[] = {
      {"--frobnicate", "--frobnicate"},
      {"-a bogus", "unknown algorithm 'bogus'; known are all, auto, native, "},
      {"-w bogus", "unknown workload 'bogus'; known are uniform, random"},
      {"-b 4Q", "bad size '4Q'"},
      {"-b 8K..4K", "the range is empty"},
      {"-m lots", "bad size 'lots'"},
      {"--collective bcast", "unknown collective 'bcast'"},
      {"--collective alltoall -w random", "needs the workload uniform, not random"},
      {"--reps 0", "--reps: must be a number from 1 on, got 0; see taquin run --help"},
      {"-n 4", "mpirun starts the ranks: mpirun -n 4 taquin run ..."},
      {"--layout loose", "'loose' must be one of automatic|indexed|"},
      {"--ports 31", "--ports"},
      {"--until 2", "--until 2: a part of the median"},
      {"--sync clock", "--sync clock: known are barrier and window"},
      {"--arrival soon", "--arrival soon: known are together, random:50us, last:3 and sorted"},
      {"--osu --json -", "--osu prints a table"},
  };
  expect_refused("run", cases);
}

TEST(run_options, a_file_that_cannot_be_written_is_told_before_measuring) {
  const auto r = taquin(2, "run -a spread_out --json /nonexistent/records.json");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.err, "cannot write /nonexistent/records.json"), 1) << r.err;
}

TEST(run_options, every_option_of_the_library_has_a_flag_that_reaches_it) {
  const auto help = taquin(0, "run --help").out;
  for (const auto& row : detail::option_table) {
    std::string flag = "--" + std::string(row.name);
    std::ranges::replace(flag, '_', '-');
    EXPECT_GE(occurrences(help, flag), 1) << flag;
  }
  for (const std::string radix : {"2", "7"}) {  // which shows in the rounds
    const auto r =
        taquin(7, "run -a bruck_v -b 64 --radix " + radix + " --layout packed --nodes 3,4 --reps 2 --json -");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.json()[1]["rounds"], radix == "2" ? 3 : 1);
  }
}

TEST(run_options, osu_prints_a_table_of_sizes_and_nothing_else) {
  const auto r = taquin(3, "run --osu -a auto -b 8..16 --reps 3");
  ASSERT_EQ(r.status, 0) << r.err;
  std::istringstream lines(r.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(line.starts_with(rows == 0 ? "8 " : "16 ") && line.ends_with(" Pass")) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 2) << r.out;
  EXPECT_EQ(occurrences(r.out, "# OSU MPI All-to-Allv Personalized Exchange Latency Test"), 1) << r.out;
}

TEST(run_options, a_table_that_cannot_be_written_is_an_error) {
  for (const char* how : {"--osu", "", "--csv -"}) {
    const auto r = taquin(0, std::string("run -a native -b 8 --reps 2 > /dev/full ") + how);
    EXPECT_EQ(r.status, 1) << how;
    EXPECT_TRUE(r.said("cannot write to standard output") || r.said("cannot write to file: No space left on device"))
        << how << r.err;
  }
}

TEST(run_options, ranks_begin_by_a_window_or_one_after_the_other_and_csv_has_a_row_for_each) {
  for (const char* how : {"--sync window", "--sync window --arrival sorted:20us", "--arrival last:1:20us",
                          "--sync window --arrival random:20us --until 90%"}) {
    const auto r = taquin(2, std::string("run -a pairwise,auto -b 64 --reps 12 --csv - ") + how);
    ASSERT_EQ(r.status, 0) << how << r.err;
    EXPECT_EQ(occurrences(r.out, "\r\n"), 4) << how << r.out;
    EXPECT_EQ(occurrences(r.out, std::string(how).find("window") == std::string::npos ? ",barrier," : ",window,"), 3);
  }
}

TEST(run_options, json_takes_a_file_or_none_in_every_command) {
  const std::string path = temporary_path("given.json");
  for (const char* what : {"list", "simulate -n 4 -a pairwise -b 1K", "explain -n 4 -b 1K", "plan -n 2 -a pairwise",
                           "run -a pairwise -b 64 --reps 2", "redistribute -a slots -b 1K --block-bytes 64 --reps 2"}) {
    for (const std::string& how : {std::string("--json"), std::string("--json -")}) {
      const auto printed = taquin(0, fmt::format("{} {}", what, how));
      EXPECT_EQ(printed.status, 0) << what << printed.err;
      EXPECT_FALSE(printed.json().empty()) << what << how;
    }
    for (const std::string& how : {"--json=" + path, "--json " + path}) {
      const auto written = taquin(0, fmt::format("{} {}", what, how));
      EXPECT_EQ(written.status, 0) << what << written.err;
      std::ifstream file(path);
      EXPECT_FALSE(nlohmann::json::parse(file).empty()) << what << how;
      std::filesystem::remove(path);
    }
  }
}

TEST(run_options, help_of_a_command_is_a_command) {
  EXPECT_EQ(taquin(0, "help run").out, taquin(0, "run --help").out);
  EXPECT_EQ(taquin(0, "help").out, taquin(0, "--help").out);
}

TEST(run_options, suggests_the_option_and_the_algorithm_that_were_meant) {
  const std::pair<const char*, const char*> cases[] = {
      {"--workloda zipf", "unknown option --workloda; did you mean --workload?"},
      {"--teleport", "unknown option --teleport; see taquin run --help"},
      {"-a pairwsie", "unknown algorithm 'pairwsie'; did you mean pairwise? known are all, auto, native"},
      {"everything", "unexpected argument 'everything'"},
  };
  expect_refused("run", cases);
}

TEST(run_options, refuses_buffers_that_a_rank_has_no_memory_for) {
  const auto r = taquin(2, "run -a pairwise -b 200T --reps 1");
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(occurrences(r.err, "lacks the memory for buffers of 200 TiB sent per rank"), 1) << r.err;
}

TEST(run_options, redistribution_says_that_there_is_no_memory_for_its_data) {
  const auto r = taquin(2, "redistribute --blocks 1000000 --block-bytes 1G --reps 1");
  EXPECT_NE(r.status, 0);
  EXPECT_GE(occurrences(r.err, "there is not enough memory for the data; choose smaller sizes"), 1) << r.err;
  EXPECT_EQ(occurrences(r.err, "bad_alloc"), 0) << r.err;
}

TEST(run_options, says_how_to_start_more_ranks_when_there_is_one) {
  const auto r = taquin(0, "run -a pairwise -b 64 --reps 2");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(occurrences(r.out, "start it with mpirun -n 4 taquin"), 1) << r.out;
}

TEST(run_options, refuses_single_processes_of_another_library_s_mpirun) {
  setenv("PMI_SIZE", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  const auto r = taquin(0, "run -a pairwise -b 64 --reps 2");
  unsetenv("PMI_SIZE");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(occurrences(r.err, "3 processes of 1 rank each"), 1) << r.err;
}

// The file holds what was there before, or the records of the sizes that are finished, and what is known of the next.
TEST(run_options, an_interrupted_run_keeps_the_records_of_finished_sizes) {
  const auto kept = interrupted(0, "run -a spread_out -b 64..1G --reps 200 --json '{}'", [](const nlohmann::json& all) {
    return all.is_array() && all.size() >= 2 && !all[0].contains("partial");
  });
  ASSERT_TRUE(kept.is_array()) << kept;
  ASSERT_GE(kept.size(), 2U);
  for (const auto& r : kept) expect_record(r, 1);
  EXPECT_FALSE(kept[0].contains("partial")) << kept[0];
}

TEST(run_options, help_is_printed_once) {
  const auto r = taquin(2, "run --help");
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(occurrences(r.out, "Workloads:"), 1);
}

}  // namespace
}  // namespace taquin::cli
