#include "interpose/observe/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/replace_file.hpp"
#include "base/shown.hpp"
#include "interpose/observe/merged_sites.hpp"
#include "interpose/reasons.hpp"
#include "interpose/say.hpp"
#include "interpose/settings.hpp"

namespace taquin::interpose {

namespace {

using detail::show_seconds;
using detail::show_size;
using nlohmann::json;

struct advice {
  std::string title;
  std::string text;
  std::string command;
  double saves = 0;
  std::size_t site = 0;  ///< of the report's list
  bool measured = true;  ///< the seconds that it saves; otherwise computed
};

// More ranks on a node than cores: a rank that waits may then wait for a core.
bool oversubscribed(const std::vector<rank_log>& logs) {
  std::map<int, long> ranks;
  for (const rank_log& log : logs) ++ranks[log.node];
  return std::ranges::any_of(ranks, [](const auto& n) { return n.second > sysconf(_SC_NPROCESSORS_ONLN); });
}

// The rank that the others wait for, told apart from chance: most of their waiting, and half as much again as for a
// rank that is last as often as any other. Null if there is none: ranks that are last in turn have no work to give
// away.
const std::pair<const int, lateness>* arrives_last(const merged& m) {
  if (m.waited_for.empty()) return nullptr;
  double all = 0;
  for (const auto& [rank, waited] : m.waited_for) all += waited.seconds;
  const auto worst = std::ranges::max_element(m.waited_for, {}, [](const auto& w) { return w.second.certain(); });
  constexpr double most = 0.5;
  const double share = std::max(most, 1.5 / static_cast<double>(m.world_ranks.size()));
  return worst->second.certain() > share * all ? &*worst : nullptr;
}

// The saving if all ranks had the same work, which is then their mean: the one that was waited for has less,
// the others have more.
double saved_by_balance(const merged& m, const lateness& of_worst) {
  return of_worst.certain() / static_cast<double>(m.world_ranks.size());
}

// Rules decide where taquin chooses, not where the user has named an algorithm.
std::string how_to_follow_a_rule() {
  const std::string& algorithm = detail::environment::get().algorithm;
  const std::string& profile = detail::environment::get().profile;
  return fmt::format("{}{}", algorithm.empty() ? "" : "run without -a and TAQUIN_ALGORITHM, which overrule rules, and ",
                     profile.empty() ? "with TAQUIN_PROFILE naming a file of this text"
                                     : fmt::format("put this before the rules of {}", profile));
}

// The whole of a profile, or the rule alone where there is a profile.
std::string with_rule(const std::string& site) {
  const json rule{{"algorithm", "native"}, {"site", site}};
  return detail::environment::get().profile.empty() ? json{{"rules", {rule}}}.dump() : rule.dump();
}

// Measured remedies, in order of their saving.
std::vector<advice> advise(const std::vector<merged>& sites, double run, bool waits_for_processors) {
  constexpr double worth_saying = 0.01;   // of the run
  constexpr double worth_sharing = 0.05;  // of the run: the program must be changed
  constexpr double mostly = 0.5;
  std::vector<advice> all;
  for (const merged& m : sites) {
    const auto* const worst = waits_for_processors || m.waiting_share() <= mostly ? nullptr : arrives_last(m);
    if (worst != nullptr && saved_by_balance(m, worst->second) > worth_sharing * run)
      all.push_back({"Balance the work before a call",
                     fmt::format("{} waits {:.0f}% of its time, most of it for rank {}", m.place(),
                                 100 * m.waiting_share(), m.world_ranks[static_cast<std::size_t>(worst->first)]),
                     "", saved_by_balance(m, worst->second), static_cast<std::size_t>(&m - sites.data()), false});
    const double saves = m.compared.own - m.compared.native;
    const std::string site = m.rule_site();
    if (!m.is_native() && m.compared.native_is_faster() && saves > worth_saying * run && !site.empty())
      all.push_back({"Leave a call site to the MPI library",
                     fmt::format("{} is faster in the MPI library, measured in {} of {} calls: {}", m.place(),
                                 m.compared.sampled, m.calls, how_to_follow_a_rule()),
                     with_rule(site), saves, static_cast<std::size_t>(&m - sites.data())});
  }
  std::ranges::stable_sort(all, std::greater{}, &advice::saves);
  return all;
}

std::string joined(const std::map<std::string, std::uint64_t>& counts, const char* between) {
  std::string text;
  for (const auto& [name, calls] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : between, name, calls);
  return text;
}

// A line of the program, with its calls on all communicators.
struct place_row {
  std::string text;
  std::uint64_t calls = 0;
  count_t bytes = 0;
  double seconds = 0;
  double waiting = 0;
  std::size_t communicators = 0;
};

std::vector<place_row> rows_of(const std::vector<merged>& sites) {
  std::map<std::string, place_row> by_place;
  for (const merged& m : sites) {
    const bool named = !m.where.file.empty() && !m.where.function.empty();
    const std::string text = m.place() + (named ? " (" + m.where.function + ")" : "");
    place_row& row = by_place[text];
    row.text = text;
    row.calls += m.calls;
    row.bytes += m.bytes;
    row.seconds += m.seconds;
    row.waiting += m.waiting.value;
    ++row.communicators;
  }
  std::vector<place_row> rows;
  rows.reserve(by_place.size());
  for (auto& [text, row] : by_place) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater{}, &place_row::seconds);
  return rows;
}

// The places that take most time, as profilers of MPI list them. `total`: the time of the rank with the most.
void print_sites(const std::vector<merged>& sites, double run, double total) {
  constexpr std::size_t most = 10;
  constexpr double percent = 100;
  if (sites.empty()) return;
  const std::vector<place_row> rows = rows_of(sites);
  print_message(
      fmt::format("  {:>10} {:>10} {:>10} {:>10} {:>7}  call site", "calls", "sent", "time", "waiting", "of run"));
  for (const place_row& r : std::span(rows).first(std::min(most, rows.size())))
    print_message(fmt::format("  {:>10} {:>10} {:>10} {:>10} {:>6.1f}%  {}{}", r.calls, show_size(r.bytes),
                              show_seconds(r.seconds), show_seconds(r.waiting),
                              run > 0 ? percent * r.seconds / run : 0.0, r.text,
                              r.communicators > 1 ? fmt::format(", {} communicators", r.communicators) : ""));
  double all = 0;
  for (const merged& m : sites) all += m.seconds;
  if (fmt::format("{:.3f}", all) != fmt::format("{:.3f}", total))
    print_message(fmt::format(
        "  each with the time of its slowest rank: together {:.3f} s; no rank spent more than {:.3f} s", all, total));
  for (const merged& m : sites)
    if (m.trial.library > 0)
      print_message(fmt::format("  {}: trial lost, {} by the MPI library, {} by taquin", m.place(),
                                show_seconds(m.trial.library), show_seconds(m.trial.taquin)));
  if (rows.size() > most) print_message(fmt::format("  {} more call sites are in the full report", rows.size() - most));
}

// On all ranks.
std::uint64_t calls_of(const std::vector<rank_log>& logs, other_call what) {
  const auto at = static_cast<std::size_t>(what);
  std::uint64_t calls = 0;
  for (const rank_log& log : logs) calls += at < log.others.size() ? log.others[at] : 0;
  return calls;
}

// How the program exchanges: by calls that taquin knows, or in another way.
void print_calls(const std::vector<rank_log>& logs, const merged& total, double run) {
  constexpr double percent = 100;
  const std::uint64_t pairwise = calls_of(logs, other_call::sendrecv);
  if (total.calls == 0 && total.fallbacks.empty() && pairwise > 0) {
    print_message(fmt::format(
        "  this program exchanges by MPI_Sendrecv: {} calls, which taquin cannot serve, and no all-to-all call",
        pairwise));
    return;
  }
  print_message(
      fmt::format("  all-to-all calls     {}, {} sent", total.calls, show_size(static_cast<count_t>(total.bytes))));
  print_message(fmt::format("  time in them         {:.3f} s, {:.1f}% of the run", total.seconds,
                            run > 0 ? percent * total.seconds / run : 0.0));
  if (total.waits_known == 0 && total.waits_of > 0)
    print_message("  waiting, transfer    not known: the wait of no call was measured");
  else
    print_message(fmt::format("  waiting, transfer    {:.3f} s until the last rank entered, {:.3f} s after that",
                              total.waiting.value, total.transfer()));
}

void print_summary(const std::vector<rank_log>& logs, const merged& total, double run,
                   const std::vector<advice>& advices, bool waits_for_processors) {
  print_message(fmt::format("report of {} ranks, {:.3f} s from MPI_Init to MPI_Finalize", logs.size(), run));
  print_calls(logs, total, run);
  if (total.waits_known > 0 && total.waits_known < total.waits_of)
    print_message(fmt::format("  waiting is estimated from {} of {} calls, 95% interval {:.3f} to {:.3f} s",
                              total.waits_known, total.waits_of, total.waiting.low, total.waiting.high));
  if (total.calls > 0) print_message("  algorithms           " + joined(total.algorithms, ", "));
  print_message(fmt::format("  peak scratch memory  {}", show_size(static_cast<count_t>(total.peak_memory))));
  if (waits_for_processors)
    print_message("  oversubscribed: more ranks than cores, so times include waiting for a core");
  for (const auto& [reason, calls] : total.fallbacks)
    print_message(fmt::format("  left to MPI          {} {}", calls, reason));
  if (total.compared.sampled > 0)
    print_message(
        fmt::format("  MPI library's own    {:.3f} s instead of {:.3f} s, measured in {} calls, waiting included",
                    total.compared.native, total.compared.own, total.compared.sampled));
  const std::uint64_t messages = calls_of(logs, other_call::point_to_point);
  if (messages > 0)
    print_message(fmt::format("  point to point       {} messages, which taquin leaves alone", messages));
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, advices.size()); ++i)
    print_message("  > " + advices[i].text + (advices[i].command.empty() ? "" : ": " + advices[i].command));
}

// The most ranks that any rank sends to, over all calls; with 1 those that it gets from.
int most_peers(const merged& m, std::size_t end) {
  std::map<int, int> peers;
  int most = 0;
  for (const json& flow : m.flows) most = std::max(most, ++peers[flow[end].get<int>()]);
  return most;
}

// The basis of the waiting time: measured in every call, or estimated from some of them.
json waiting_basis(const merged& m) {
  if (m.waits_known >= m.waits_of) return {{"basis", "measured"}};
  return {{"basis", "estimated"},
          {"calls", m.waits_known},
          {"of", m.waits_of},
          {"low", m.waiting.low},
          {"high", m.waiting.high}};
}

json to_json(const merged& m) {
  json j{{"form", m.form},
         {"communicator", {{"ranks", m.world_ranks.size()}, {"world_ranks", m.world_ranks}}},
         {"calls", m.calls},
         {"bytes", m.bytes},
         {"seconds", m.seconds},
         {"waiting_seconds", m.waiting.value},
         {"waiting_basis", waiting_basis(m)},
         {"sent", m.sent},
         {"received", m.received},
         {"arrival", m.arrival},
         {"flows", m.flows},
         {"destinations", most_peers(m, 0)},
         {"sources", most_peers(m, 1)},
         {"sizes", json::array()},
         {"algorithms", json::array()},
         {"fallbacks", json::array()},
         {"peak_memory", m.peak_memory}};
  if (!m.where.function.empty()) j["function"] = m.where.function;
  if (!m.where.address.empty()) j["address"] = m.where.address;
  if (!m.where.file.empty()) {
    j["file"] = m.where.file;
    j["line"] = m.where.line;
  }
  for (const auto& [power, blocks] : m.sizes) j["sizes"].push_back({power < 0 ? 0 : count_t{1} << power, blocks});
  for (const auto& [name, calls] : m.algorithms) j["algorithms"].push_back({{"name", name}, {"calls", calls}});
  for (const auto& [reason, calls] : m.fallbacks) {
    j["fallbacks"].push_back({{"reason", reason}, {"calls", calls}});
    if (reason != reasons::trial_lost) continue;
    j["fallbacks"].back()["library_seconds"] = m.trial.library;
    j["fallbacks"].back()["taquin_seconds"] = m.trial.taquin;
  }
  if (m.compared.sampled > 0)
    j["native"] = {{"seconds", m.compared.native},
                   {"instead_of", m.compared.own},
                   {"calls", m.compared.sampled},
                   {"basis", "measured"}};
  return j;
}

// The batch system's number of the job; without one, this process's.
std::string job() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"})
    if (const char* id = std::getenv(name); id != nullptr && *id != '\0') return id;
  return std::to_string(getpid());
}

std::string stem_named_after(const std::string& command_line) {
  const std::string program = command_line.substr(0, command_line.find(' '));
  std::string name = fmt::format("taquin-report-{}-{}", program.substr(program.rfind('/') + 1), job());
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace

void write_report(const std::vector<rank_log>& logs) {
  const settings& s = settings::get();
  const bool full = s.at_end == settings::report::full;
  const auto sites = merge(logs);
  double run = 0;
  std::set<int> nodes;
  for (const rank_log& log : logs) {
    run = std::max(run, log.seconds);
    nodes.insert(log.node);
  }
  const merged total = sum_of(logs, sites);
  const bool waits_for_processors = oversubscribed(logs);
  const auto advices = advise(sites, run, waits_for_processors);
  print_summary(logs, total, run, advices, waits_for_processors);
  print_sites(sites, run, total.seconds);
  if (!full) return;
  json j{{"taquin_report", 1}, {"program", logs.front().program}, {"ranks", logs.size()},   {"nodes", nodes.size()},
         {"seconds", run},     {"memory_limit", nullptr},         {"sites", json::array()}, {"advice", json::array()}};
  j["oversubscribed"] = waits_for_processors;
  j["left_to_mpi"] = total.fallbacks;
  j["totals"] = {
      {"seconds", total.seconds}, {"waiting_seconds", total.waiting.value}, {"waiting_basis", waiting_basis(total)}};
  if (!s.trace.empty()) j["trace"] = s.trace;
  if (s.memory != unlimited) j["memory_limit"] = s.memory;
  for (const merged& m : sites) j["sites"].push_back(to_json(m));
  for (const advice& a : advices) {
    j["advice"].push_back({{"title", a.title},
                           {"text", a.text},
                           {"saves_seconds", a.saves},
                           {"basis", a.measured ? "measured" : "estimated"},
                           {"site", a.site}});
    if (!a.command.empty()) j["advice"].back()["command"] = a.command;
  }
  // A command line need not be UTF-8: other bytes are replaced.
  const std::string text = j.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
  std::string file = s.report_file;
  const auto why = file.empty() ? detail::create_file(stem_named_after(logs.front().program), ".json", text, file)
                                : detail::replace_file(file, text, detail::links::replaced);
  print_message(why ? fmt::format("no report is written: cannot write {}: {}", file, *why)
                    : fmt::format("report written to {}", file));
}

}  // namespace taquin::interpose
