#include "interpose/observe/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/replace_file.hpp"
#include "interpose/call_site.hpp"
#include "interpose/observe/merged_sites.hpp"
#include "interpose/say.hpp"

namespace taquin::interpose {

namespace {

// A label's value: characters that would end it are escaped.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\' || c == '"') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

struct family {
  const char* name;
  const char* type;
  const char* unit;
  const char* help;
  std::function<double(const site_log&)> value;
};

std::string labels_of(int rank, const site_log& s) {
  const call_site where = s.object.empty() ? call_site{} : resolve(s.object, s.offset);
  return fmt::format(R"(rank="{}",call="{}",function="{}",file="{}",line="{}")", rank, name_of_call(s.kind, s.form),
                     escaped(where.function), escaped(where.file.substr(where.file.rfind('/') + 1)), where.line);
}

using metrics_of_sites = std::map<std::string, site_log>;  // by labels

std::string passed_on(const std::vector<rank_log>& logs, const metrics_of_sites& sites) {
  std::string text =
      "# TYPE taquin_left_to_mpi counter\n# HELP taquin_left_to_mpi Calls that the MPI library did, by reason.\n";
  for (const auto& [labels, s] : sites)
    for (const auto& [reason, calls] : s.fallbacks)
      text += fmt::format("taquin_left_to_mpi_total{{{},reason=\"{}\"}} {}\n", labels, escaped(reason), calls);
  for (std::size_t rank = 0; rank < logs.size(); ++rank)
    for (const auto& [form, reason, calls] : unobserved_of(logs[rank]))
      text += fmt::format("taquin_left_to_mpi_total{{rank=\"{}\",call=\"{}\",reason=\"{}\"}} {}\n", rank, form,
                          escaped(reason), calls);
  text += "# TYPE taquin_lost_trial_seconds gauge\n# UNIT taquin_lost_trial_seconds seconds\n";
  text += "# HELP taquin_lost_trial_seconds Best timed calls of a trial that the MPI library has won.\n";
  for (const auto& [labels, s] : sites) {
    if (s.trial.library <= 0) continue;
    text += fmt::format("taquin_lost_trial_seconds{{{},by=\"library\"}} {}\n", labels, s.trial.library);
    text += fmt::format("taquin_lost_trial_seconds{{{},by=\"taquin\"}} {}\n", labels, s.trial.taquin);
  }
  return text;
}

}  // namespace

static std::string metrics_of(const std::vector<rank_log>& logs) {
  const family families[] = {
      {"taquin_seconds", "counter", "seconds", "Time in all-to-all calls.",
       [](const site_log& s) { return s.seconds; }},
      {"taquin_waiting_seconds", "counter", "seconds", "Of that, until the last rank entered.",
       [](const site_log& s) { return s.waits.of(s.seconds).value; }},
      {"taquin_sent_bytes", "counter", "bytes", "Bytes sent, those to the rank itself included.",
       [](const site_log& s) { return static_cast<double>(s.bytes); }},
      {"taquin_peak_memory_bytes", "gauge", "bytes", "The most scratch memory of a call.",
       [](const site_log& s) { return static_cast<double>(s.peak_memory); }},
  };
  // Samples of one metric have different labels: a site's calls on all communicators are one.
  metrics_of_sites sites;
  for (std::size_t rank = 0; rank < logs.size(); ++rank)
    for (const site_log& s : logs[rank].sites) {
      site_log& all = sites[labels_of(static_cast<int>(rank), s)];
      all.bytes += s.bytes;
      all.seconds += s.seconds;
      all.waits.waited += s.waits.of(s.seconds).value;
      all.waits.lasted += s.seconds;
      all.peak_memory = std::max(all.peak_memory, s.peak_memory);
      for (const auto& [name, calls] : s.algorithms) all.algorithms[name] += calls;
      for (const auto& [reason, calls] : s.fallbacks) all.fallbacks[reason] += calls;
      if (s.trial.library > 0) all.trial = s.trial;
    }
  std::string text = "# TYPE taquin_calls counter\n# HELP taquin_calls All-to-all calls.\n";
  for (const auto& [labels, s] : sites)
    for (const auto& [name, calls] : s.algorithms)
      text += fmt::format("taquin_calls_total{{{},algorithm=\"{}\"}} {}\n", labels, escaped(name), calls);
  text += passed_on(logs, sites);
  for (const family& f : families) {
    text += fmt::format("# TYPE {0} {1}\n# UNIT {0} {2}\n# HELP {0} {3}\n", f.name, f.type, f.unit, f.help);
    const char* const suffix = std::string_view(f.type) == "counter" ? "_total" : "";
    for (const auto& [labels, s] : sites) text += fmt::format("{}{}{{{}}} {}\n", f.name, suffix, labels, f.value(s));
  }
  text += "# TYPE taquin_run_seconds gauge\n# UNIT taquin_run_seconds seconds\n";
  text += "# HELP taquin_run_seconds From MPI_Init to MPI_Finalize.\n";
  for (std::size_t rank = 0; rank < logs.size(); ++rank)
    text += fmt::format("taquin_run_seconds{{rank=\"{}\"}} {}\n", rank, logs[rank].seconds);
  return text + "# EOF\n";
}

void write_metrics(const std::vector<rank_log>& logs, const std::string& file) {
  const auto why = detail::replace_file(file, metrics_of(logs), detail::links::replaced);
  print_message(why ? fmt::format("no metrics are written: cannot write {}: {}", file, *why)
                    : fmt::format("metrics written to {}", file));
}

}  // namespace taquin::interpose
