#include "harness/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace taquin::harness {

namespace {

using nlohmann::json;

std::string cell(const json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

struct column {
  const char* title;
  const char* pointer;  // into the record
};

constexpr std::array columns{column{"asked", "/asked"},
                             column{"algorithm", "/algorithm"},
                             column{"workload", "/workload"},
                             column{"collective", "/collective"},
                             column{"ranks", "/ranks"},
                             column{"bytes_per_rank", "/bytes_per_rank"},
                             column{"in_place", "/in_place"},
                             column{"persistent", "/persistent"},
                             column{"memory_limit", "/memory_limit"},
                             column{"sync", "/sync"},
                             column{"arrival", "/arrival"},
                             column{"seed", "/seed"},
                             column{"repetitions", "/repetitions"},
                             column{"exchanges_per_repetition", "/exchanges_per_repetition"},
                             column{"median_s", "/median_s"},
                             column{"ci95_low_s", "/ci95_s/0"},
                             column{"ci95_high_s", "/ci95_s/1"},
                             column{"p50_s", "/percentiles_s/p50"},
                             column{"p90_s", "/percentiles_s/p90"},
                             column{"p99_s", "/percentiles_s/p99"},
                             column{"rank_mean_s", "/over_ranks_s/mean"},
                             column{"rank_min_s", "/over_ranks_s/min"},
                             column{"rank_max_s", "/over_ranks_s/max"},
                             column{"ratio_to_native", "/ratio_to_native"},
                             column{"peak_memory", "/peak_memory"},
                             column{"rounds", "/rounds"},
                             column{"messages", "/messages"},
                             column{"bytes_sent", "/bytes_sent"},
                             column{"bytes_copied", "/bytes_copied"},
                             column{"wrong_bytes", "/wrong_bytes"},
                             column{"reason", "/reason"},
                             column{"partial", "/partial"}};

json at(const json& record, const char* pointer) { return record.value(json::json_pointer(pointer), json()); }

std::string osu_row(const json& r) {
  constexpr double microseconds = 1e6;
  const auto us = [&](const char* pointer) { return microseconds * at(r, pointer).get<double>(); };
  return fmt::format("{:<10} {:>17.2f} {:>17.2f} {:>17.2f} {:>12} {:>17.2f} {:>17.2f} {:>17.2f} {:>17}\n",
                     r["per_pair_bytes"].dump(), us("/over_ranks_s/mean"), us("/over_ranks_s/min"),
                     us("/over_ranks_s/max"),
                     r["repetitions"].get<std::uint64_t>() * r["exchanges_per_repetition"].get<std::uint64_t>(),
                     us("/percentiles_s/p50"), us("/percentiles_s/p90"), us("/percentiles_s/p99"),
                     r["wrong_bytes"] == 0 ? "Pass" : "Fail");
}

}  // namespace

std::string csv_of(const std::vector<json>& records) {
  std::string text;
  for (const column& c : columns) text.append(c.title).append(&c == &columns.back() ? "\r\n" : ",");
  for (const json& r : records)
    for (const column& c : columns) text.append(cell(at(r, c.pointer))).append(&c == &columns.back() ? "\r\n" : ",");
  return text;
}

std::string osu_of(const std::vector<json>& records) {
  std::vector<std::pair<std::string, std::vector<const json*>>> blocks;  // in the order of their first records
  for (const json& r : records) {
    const auto requested = r["asked"].get<std::string>();
    if (blocks.empty() || std::ranges::find(blocks, requested, &decltype(blocks)::value_type::first) == blocks.end())
      blocks.push_back({requested, {}});
    std::ranges::find(blocks, requested, &decltype(blocks)::value_type::first)->second.push_back(&r);
  }
  std::string text;
  for (const auto& [requested, rows] : blocks) {
    const auto collective = rows.front()->value("collective", "");
    const char* const title =
        collective == "alltoall" ? "All-to-All" : (collective == "alltoallw" ? "All-to-Allw" : "All-to-Allv");
    text += fmt::format("{}# OSU MPI {} Personalized Exchange Latency Test (by taquin)\n# Datatype: MPI_CHAR.\n",
                        text.empty() ? "" : "\n", title);
    text += fmt::format("# Algorithm: {}, {} ranks, workload {}\n", requested, rows.front()->at("ranks").dump(),
                        rows.front()->value("workload", ""));
    text += fmt::format("{:<10} {:>17} {:>17} {:>17} {:>12} {:>17} {:>17} {:>17} {:>17}\n", "# Size", "Avg Latency(us)",
                        "Min Latency(us)", "Max Latency(us)", "Iterations", "P50 Tail Lat(us)", "P90 Tail Lat(us)",
                        "P99 Tail Lat(us)", "Validation");
    for (const json* r : rows)
      text += r->contains("reason")
                  ? fmt::format("# {}: {}\n", (*r)["per_pair_bytes"].dump(), (*r)["reason"].get<std::string>())
                  : osu_row(*r);
  }
  return text;
}

}  // namespace taquin::harness
