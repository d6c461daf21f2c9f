#include "harness/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/sizes.hpp"
#include "harness/statistics.hpp"

namespace taquin::harness {

nlohmann::json record(const setting& s, const contender& c) {
  nlohmann::json r;
  r["algorithm"] = c.fault ? c.requested : c.name;
  r["asked"] = c.requested;
  r["workload"] = s.workload;
  r["collective"] = s.collective;
  r["ranks"] = s.ranks;
  r["in_place"] = s.in_place;
  r["buffers"] = s.mpi_in_place ? "MPI_IN_PLACE" : s.in_place ? "one" : "two";
  r["persistent"] = s.persistent;
  r["bytes_per_rank"] = s.bytes_per_rank;
  r["memory_limit"] = nullptr;
  if (!c.raw && s.memory_limit != unlimited) r["memory_limit"] = s.memory_limit;
  if (c.fault) {
    for (const char* key : {"peak_memory", "median_s", "ci95_s", "ratio_to_native", "rounds", "messages", "bytes_sent",
                            "bytes_copied", "wrong_bytes"})
      r[key] = nullptr;
    r["reason"] = *c.fault;
    return r;
  }
  const summary times = summarise(c.seconds);
  if (c.default_for_others) r["by_default"] = c.by_default;
  r["peak_memory"] = c.stats.peak_memory;
  r["median_s"] = times.median;
  r["ci95_s"] = {times.ci95.low, times.ci95.high};
  auto sorted = c.seconds;
  std::ranges::sort(sorted);
  r["percentiles_s"] = {
      {"p50", quantile(sorted, 0.5)}, {"p90", quantile(sorted, 0.9)}, {"p99", quantile(sorted, 0.99)}};
  if (c.rank_mean > 0) r["over_ranks_s"] = {{"mean", c.rank_mean}, {"min", c.rank_min}, {"max", c.rank_max}};
  r["ratio_to_native"] = c.ratios.empty() ? 1.0 : median(c.ratios);
  r["rounds"] = c.stats.rounds;
  r["messages"] = c.stats.messages;
  r["bytes_sent"] = c.stats.bytes_sent;
  r["bytes_copied"] = c.stats.bytes_copied;
  r["wrong_bytes"] = c.wrong;
  if (const auto& parts = c.stats.in_place_phases; parts.requests + parts.data + parts.update > 0)
    r["phases_s"] = {{"requests", parts.requests}, {"data", parts.data}, {"update", parts.update}};
  const auto done = static_cast<int>(c.seconds.size());  // the MPI library's own call is repeated beside each
  r["repetitions"] = c.raw ? std::max(1, s.how.repetitions) : done;
  r["exchanges_per_repetition"] = s.how.inner;
  r["seed"] = s.seed;
  return r;
}

namespace {

// Columns of a terminal: the bytes that continue a character take none.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void print_table(std::FILE* out, const std::vector<nlohmann::json>& records) {
  if (records.empty()) return;
  using cells = std::vector<std::string>;
  const bool predicts = records.front()["collective"] == "redistribute" &&
                        std::ranges::any_of(records, [](const auto& r) { return r.contains("predicted_s"); });
  std::vector<cells> rows{
      {"algorithm", "median", "95% interval", "ratio", "peak mem", "rounds", "messages", "sent", "wrong"}};
  if (predicts) rows[0].emplace_back("predicted");
  std::string remarks;
  const bool alone = records.front()["ranks"] == 1;
  if (alone) remarks += "1 rank exchanges with itself alone: start it with mpirun -n 4 taquin ...\n";
  for (const auto& r : records) {
    const auto name = r["algorithm"].get<std::string>();
    const auto requested = r["asked"].get<std::string>();
    if (r.contains("reason")) {
      rows.emplace_back(rows[0].size(), "-");
      rows.back()[0] = name;
      remarks += fmt::format("{}: {}\n", name, r["reason"].get<std::string>());
      continue;
    }
    if (const auto n = r.value("by_default", std::uint64_t{0}); n > 0)
      remarks += fmt::format("{}: does not serve {} of the calls; auto did them\n", name, n);
    if (const auto wrong = r["wrong_bytes"].get<count_t>(); wrong > 0)
      remarks += fmt::format(
          "{}: {} bytes arrived wrong: this is a defect of taquin or of the MPI library; please report "
          "it with this command line\n",
          name, wrong);
    rows.push_back({name == requested ? name : fmt::format("{} ({})", requested, name), show_seconds(r["median_s"]),
                    fmt::format("{} .. {}", show_seconds(r["ci95_s"][0]), show_seconds(r["ci95_s"][1])),
                    alone ? "-" : fmt::format("{:.3f}", r["ratio_to_native"].get<double>()),
                    show_size(r["peak_memory"]), fmt::format("{}", r["rounds"].get<std::uint64_t>()),
                    fmt::format("{}", r["messages"].get<std::uint64_t>()), show_size(r["bytes_sent"]),
                    fmt::format("{}", r["wrong_bytes"].get<count_t>())});
    if (!predicts) continue;
    const auto time = r.value("predicted_s", nlohmann::json());
    rows.back().push_back(time.is_number() ? show_seconds(time) : "-");
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  const auto& first = records.front();
  fmt::print(out, "\n{}, {} ranks, {} per rank{}{}, {} repetitions of {}\n", first["workload"].get<std::string>(),
             first["ranks"].get<int>(), show_size(first["bytes_per_rank"]),
             first.value("buffers", "") == "MPI_IN_PLACE" ? ", MPI_IN_PLACE"
             : first["in_place"].get<bool>()              ? ", in place"
                                                          : "",
             first["persistent"].get<bool>() ? ", persistent" : "", first["repetitions"].get<int>(),
             first["exchanges_per_repetition"].get<int>());
  for (const auto& row : rows) {
    fmt::print(out, "{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) fmt::print(out, "  {:>{}}", row[i], widths[i]);
    fmt::print(out, "\n");
  }
  if (first.value("buffers", "") == "one" && first["algorithm"] == "native")
    remarks += "native receives into a second buffer, which is not in its peak mem\n";
  fmt::print(out, "{}", remarks);
  std::fflush(out);
}

}  // namespace taquin::harness
