#include "interpose/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/environment.hpp"
#include "interpose/call_site.hpp"
#include "interpose/message.hpp"
#include "interpose/settings.hpp"

namespace taquin::interpose {

namespace {

using nlohmann::json;

// One call site on one communicator, of all ranks.
struct merged {
  std::string form;
  std::vector<int> world_ranks;
  call_site where;
  std::uint64_t calls = 0;
  count_t bytes = 0;
  double seconds = 0;  // of the rank with the most
  double waiting = 0;  // the same rank's
  std::size_t peak_memory = 0;
  std::uint64_t sampled = 0;  // calls that went to the MPI library to be measured
  double sampled_seconds = 0;
  double served_seconds = 0;  // in the others
  std::map<int, double> waited_for;
  std::map<int, std::uint64_t> sizes;
  std::map<std::string, std::uint64_t> algorithms;
  std::map<std::string, std::uint64_t> fallbacks;
  std::vector<count_t> sent;
  std::vector<count_t> received;
  std::vector<double> arrival;
  json flows = json::array();

  [[nodiscard]] double transfer() const { return seconds - waiting; }
  [[nodiscard]] double waiting_share() const { return seconds > 0 ? waiting / seconds : 0; }
  [[nodiscard]] std::string place() const {
    if (!where.file.empty())
      return fmt::format("{} at {}:{}", form, where.file.substr(where.file.rfind('/') + 1), where.line);
    return where.function.empty() ? form : fmt::format("{} in {}", form, where.function);
  }
  // What the MPI library's own would have taken.
  [[nodiscard]] double native_seconds() const {
    return sampled > 0 ? sampled_seconds / static_cast<double>(sampled) * static_cast<double>(calls) : 0;
  }
};

std::string name_of_call(workloads::call_kind kind, workloads::call_form form) {
  const std::string name(workloads::name_of(kind));
  if (form == workloads::call_form::nonblocking) return "i" + name;
  return form == workloads::call_form::persistent ? name + "_init" : name;
}

std::vector<merged> merge(const std::vector<rank_log>& logs, bool resolved) {
  using key = std::tuple<std::string, std::uint64_t, comm_id, workloads::call_kind, workloads::call_form>;
  std::map<key, merged> all;
  for (const rank_log& log : logs) {
    for (const site_log& s : log.sites) {
      const known_comm& c = log.comms[s.comm];
      auto [found, fresh] = all.try_emplace({s.object, s.offset, c.id, s.kind, s.form});
      merged& m = found->second;
      const auto rank = static_cast<std::size_t>(c.rank);
      if (fresh) {
        m.form = name_of_call(s.kind, s.form);
        m.world_ranks = c.world_ranks;
        if (resolved) m.where = resolve(s.object, s.offset);
        m.sent.resize(c.world_ranks.size());
        m.received.resize(c.world_ranks.size());
        m.arrival.resize(c.world_ranks.size());
      }
      m.calls = std::max(m.calls, s.calls);
      m.bytes += s.bytes;
      if (s.seconds > m.seconds) {
        m.seconds = s.seconds;
        m.waiting = std::min(s.waiting, s.seconds);
      }
      m.sampled = std::max(m.sampled, s.sampled);
      m.sampled_seconds = std::max(m.sampled_seconds, s.sampled_seconds);
      m.peak_memory = std::max(m.peak_memory, s.peak_memory);
      m.sent[rank] += s.bytes;
      m.received[rank] += s.received;
      if (s.arrivals > 0) m.arrival[rank] = s.arrival / static_cast<double>(s.arrivals);
      for (const auto& [last, waited] : s.waited_for) m.waited_for[last] += waited;
      for (const auto& [size, blocks] : s.sizes) m.sizes[size] += blocks;
      for (const auto& [name, calls] : s.algorithms) m.algorithms[name] = std::max(m.algorithms[name], calls);
      for (const auto& [reason, calls] : s.fallbacks) m.fallbacks[reason] = std::max(m.fallbacks[reason], calls);
      for (std::size_t to = 0; to < s.flows.size(); ++to)
        if (s.flows[to] > 0) m.flows.push_back({c.rank, to, s.flows[to]});
    }
  }
  std::vector<merged> sites;
  sites.reserve(all.size());
  for (auto& [k, m] : all) sites.push_back(std::move(m));
  std::ranges::stable_sort(sites, std::greater{}, &merged::seconds);
  return sites;
}

struct advice {
  std::string text;
  double saves = 0;
};

// All call sites together; the time is that of the rank with the most.
merged sum_of(const std::vector<rank_log>& logs, const std::vector<merged>& sites) {
  merged total;
  for (const merged& m : sites) {
    total.calls += m.calls;
    total.bytes += m.bytes;
    total.peak_memory = std::max(total.peak_memory, m.peak_memory);
    for (const auto& [name, calls] : m.algorithms) total.algorithms[name] += calls;
    for (const auto& [reason, calls] : m.fallbacks) total.fallbacks[reason] += calls;
  }
  for (const rank_log& log : logs) {
    double seconds = 0;
    double waiting = 0;
    for (const site_log& s : log.sites) {
      seconds += s.seconds;
      waiting += std::min(s.waiting, s.seconds);
    }
    if (seconds >= total.seconds) {
      total.seconds = seconds;
      total.waiting = waiting;
    }
  }
  return total;
}

// In order of what they could save.
std::vector<advice> advise(const std::vector<merged>& sites, const merged& total, double run) {
  constexpr double worth_saying = 0.01;  // of the run
  constexpr double mostly = 0.5;
  constexpr std::uint64_t enough = 4;  // measured calls
  std::vector<advice> all;
  for (const merged& m : sites) {
    if (m.waiting > worth_saying * run && m.waiting_share() > mostly && !m.waited_for.empty()) {
      const auto worst = std::ranges::max_element(m.waited_for, {}, [](const auto& w) { return w.second; });
      all.push_back({fmt::format("{} waits {:.0f}% of its time for rank {}", m.place(), 100 * m.waiting_share(),
                                 m.world_ranks[static_cast<std::size_t>(worst->first)]),
                     m.waiting});
    }
    const double native = m.native_seconds();
    if (m.sampled >= enough && m.seconds - native > worth_saying * run)
      all.push_back({fmt::format("{} is faster in the MPI library: make a profile with 'taquin tune' and set "
                                 "TAQUIN_PROFILE, or TAQUIN_ALGORITHM=native; it would save {:.0f}%",
                                 m.place(), 100 * (m.seconds - native) / m.seconds),
                     m.seconds - native});
  }
  std::ranges::stable_sort(all, std::greater{}, &advice::saves);
  constexpr double much = 0.1;  // of the run
  const auto& given = detail::environment::get();
  if (given.profile.empty() && given.algorithm.empty() && total.transfer() > much * run)
    all.push_back(
        {fmt::format("transfer takes {:.0f}% of the run, and choices go by the built-in model: record the "
                     "program, run 'taquin tune --traffic', and set TAQUIN_PROFILE",
                     100 * total.transfer() / run)});
  return all;
}

std::string size(double bytes) {
  const char* const units[] = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  constexpr double step = 1024;
  for (; bytes >= step && unit + 1 < std::size(units); ++unit) bytes /= step;
  return fmt::format("{:.{}f}{}B", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string joined(const std::map<std::string, std::uint64_t>& counts, const char* between) {
  std::string text;
  for (const auto& [name, calls] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : between, name, calls);
  return text;
}

void print_summary(const std::vector<rank_log>& logs, const std::vector<merged>& sites, const merged& total, double run,
                   double native_by_model, const std::vector<advice>& advices) {
  double native = 0;
  double compared = 0;
  for (const merged& m : sites) {
    native += m.native_seconds();
    if (m.sampled > 0) compared += m.seconds;
  }
  constexpr double percent = 100;
  say(fmt::format("report of {} ranks, {:.3f} s from MPI_Init to MPI_Finalize", logs.size(), run));
  say(fmt::format("  all-to-all calls     {}, {} sent", total.calls, size(static_cast<double>(total.bytes))));
  say(fmt::format("  time in them         {:.3f} s, {:.1f}% of the run", total.seconds,
                  run > 0 ? percent * total.seconds / run : 0.0));
  say(fmt::format("  waiting, transfer    {:.3f} s until the last rank came, {:.3f} s after that", total.waiting,
                  total.transfer()));
  if (total.calls > 0) say("  algorithms           " + joined(total.algorithms, ", "));
  say(fmt::format("  peak extra memory    {}", size(static_cast<double>(total.peak_memory))));
  for (const auto& [reason, calls] : total.fallbacks) say(fmt::format("  left to MPI          {}: {}", calls, reason));
  if (compared > 0)
    say(fmt::format("  MPI library's own    {:.3f} s instead of {:.3f} s, measured in every {}th call", native,
                    compared, sampling));
  else if (total.calls > 0)
    say(fmt::format("  MPI library's own    {:.3f} s without waiting, by the model", native_by_model));
  std::uint64_t messages = 0;
  for (const rank_log& log : logs) messages += log.others.empty() ? 0 : log.others[0];
  if (messages > 0) say(fmt::format("  point to point       {} messages, which taquin leaves alone", messages));
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, advices.size()); ++i) say("  > " + advices[i].text);
}

json to_json(const merged& m) {
  json j{{"form", m.form},
         {"communicator", {{"ranks", m.world_ranks.size()}, {"world_ranks", m.world_ranks}}},
         {"calls", m.calls},
         {"bytes", m.bytes},
         {"seconds", m.seconds},
         {"waiting_seconds", m.waiting},
         {"sent", m.sent},
         {"received", m.received},
         {"arrival", m.arrival},
         {"flows", m.flows},
         {"sizes", json::array()},
         {"algorithms", json::array()},
         {"fallbacks", json::array()},
         {"peak_memory", m.peak_memory}};
  if (!m.where.function.empty()) j["function"] = m.where.function;
  if (!m.where.file.empty()) {
    j["file"] = m.where.file;
    j["line"] = m.where.line;
  }
  for (const auto& [power, blocks] : m.sizes) j["sizes"].push_back({power < 0 ? 0 : count_t{1} << power, blocks});
  for (const auto& [name, calls] : m.algorithms) j["algorithms"].push_back({{"name", name}, {"calls", calls}});
  for (const auto& [reason, calls] : m.fallbacks) j["fallbacks"].push_back({{"reason", reason}, {"calls", calls}});
  if (m.sampled > 0) j["native"] = {{"seconds", m.native_seconds()}, {"basis", "measured"}};
  return j;
}

}  // namespace

void write_report(const std::vector<rank_log>& logs, double native_by_model) {
  const settings& s = settings::get();
  const bool full = s.at_end == settings::report::full;
  const auto sites = merge(logs, full);
  double run = 0;
  std::set<int> nodes;
  for (const rank_log& log : logs) {
    run = std::max(run, log.seconds);
    nodes.insert(log.node);
  }
  const merged total = sum_of(logs, sites);
  const auto advices = advise(sites, total, run);
  print_summary(logs, sites, total, run, native_by_model, advices);
  if (!full) return;
  json j{{"taquin_report", 1}, {"program", logs.front().program}, {"ranks", logs.size()},   {"nodes", nodes.size()},
         {"seconds", run},     {"memory_limit", nullptr},         {"sites", json::array()}, {"advice", json::array()}};
  if (s.memory != unlimited) j["memory_limit"] = s.memory;
  for (const merged& m : sites) j["sites"].push_back(to_json(m));
  for (const advice& a : advices) {
    j["advice"].push_back({{"text", a.text}});
    if (a.saves > 0) j["advice"].back().update({{"saves_seconds", a.saves}, {"basis", "measured"}});
  }
  std::ofstream out(s.report_file);
  out << j.dump(1) << '\n' << std::flush;
  if (!out) say(fmt::format("no report is written: cannot write {}: {}", s.report_file, std::strerror(errno)));
}

}  // namespace taquin::interpose
