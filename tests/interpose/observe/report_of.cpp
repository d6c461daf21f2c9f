// report_of CASE: the report of a run whose truth is known, from logs that are made here. TAQUIN_REPORT=full:FILE says
// where the whole of it goes, TAQUIN_METRICS=FILE where its metrics. advice.mjs has what is true of each case.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "interpose/call_site.hpp"
#include "interpose/event.hpp"
#include "interpose/observe/metrics.hpp"
#include "interpose/observe/report.hpp"
#include "interpose/reasons.hpp"
#include "interpose/settings.hpp"

extern "C" void the_exchange() { std::puts("a call site"); }

namespace {

using namespace taquin;
using namespace taquin::interpose;

constexpr int calls = 300;
constexpr double transfer = 1e-4;  // of each call
constexpr double work = 1e-3;      // before each call

// A rank of a run of `ranks`, alone on its node, with one call site on the communicator of `members`.
rank_log log_of(int world_rank, const std::vector<int>& members, double seconds) {
  rank_log log;
  log.program = "program input";
  log.seconds = seconds;
  log.node = world_rank;
  known_comm comm{{members.front(), 0}, 0, members};
  while (members[static_cast<std::size_t>(comm.rank)] != world_rank) ++comm.rank;
  log.comms.push_back(comm);
  const auto& at = place_of(reinterpret_cast<const char*>(&the_exchange) + 1);
  site_log site;
  site.object = at.object;
  site.offset = at.offset;
  site.calls = calls;
  site.bytes = calls * 1000;
  site.received = site.bytes;
  site.peak_memory = 12345;
  site.sizes = {{9, 2 * calls}};
  site.algorithms = {{"auto", calls}};
  site.flows = std::vector<count_t>(members.size(), calls * 500);
  log.sites.push_back(site);
  run_of_calls run;
  run.repeats = calls;
  log.runs.push_back(run);
  return log;
}

// Two ranks; `late(call)` is the rank that comes so much later than the other.
template <class Late>
std::vector<rank_log> two_ranks(Late late) {
  std::vector<rank_log> logs;
  double run = 0;
  for (int call = 0; call < calls; ++call) run += work + transfer + late(call).second;
  for (int rank = 0; rank < 2; ++rank) {
    rank_log log = log_of(rank, {0, 1}, run);
    for (int call = 0; call < calls; ++call) {
      const auto [last, by] = late(call);
      const double wait = rank == last ? 0 : by;
      log.waited({0, 0, 0, 1, transfer + wait}, wait, rank == last ? by : 0, last);
      site_log& s = log.sites.front();
      s.seconds += transfer + wait;
      s.squares += (transfer + wait) * (transfer + wait);
    }
    logs.push_back(log);
  }
  return logs;
}

using lateness = std::pair<int, double>;

// `sampled` of the calls were the MPI library's own, of `native` seconds on average, more and less by `by` in turn.
std::vector<rank_log> sampled(int sampled, double native, double by) {
  auto logs = two_ranks([](int call) { return lateness{call % 2, 1e-6}; });
  for (rank_log& log : logs) {
    site_log& s = log.sites.front();
    s.sampled = static_cast<std::uint64_t>(sampled);
    s.algorithms = {{"auto", calls - sampled}, {"native", sampled}};
    for (int i = 0; i < sampled; ++i) {
      const double took = native + (i % 2 == 0 ? by : -by);
      s.sampled_seconds += took;
      s.sampled_squares += took * took;
    }
    s.seconds += s.sampled_seconds - sampled * transfer;
    s.squares += s.sampled_squares - sampled * transfer * transfer;
  }
  return logs;
}

// The same where taquin's algorithm for all other calls is the MPI library's exchange as well.
std::vector<rank_log> native_already() {
  auto logs = sampled(30, transfer / 5, transfer / 50);
  for (rank_log& log : logs) log.sites.front().algorithms = {{"native", calls}};
  return logs;
}

// Two pairs of ranks that run side by side: no rank has the time of both.
std::vector<rank_log> side_by_side() {
  std::vector<rank_log> logs;
  for (int rank = 0; rank < 4; ++rank) {
    rank_log log = log_of(rank, rank < 2 ? std::vector{0, 1} : std::vector{2, 3}, 0.5);
    log.sites.front().seconds = 0.024 + 0.001 * rank;
    log.sites.front().waits.calls = calls;
    log.sites.front().waits.waited = 0.006 + 0.001 * rank;
    log.sites.front().waits.lasted = log.sites.front().seconds;
    log.sites.front().peak_memory += static_cast<std::size_t>(rank);
    logs.push_back(log);
  }
  return logs;
}

// Nonblocking calls that the MPI library did after a trial, and blocking ones while taquin was off.
std::vector<rank_log> passed_on() {
  auto logs = two_ranks([](int call) { return lateness{call % 2, 1e-6}; });
  for (rank_log& log : logs) {
    site_log& s = log.sites.front();
    s.form = call_form::nonblocking;
    s.algorithms = {{"native", 290}, {"neighbour_slots", 10}};
    s.fallbacks = {{reasons::trial, 20}, {reasons::trial_lost, 270}};
    s.trial = {12e-6, 34e-6};
    log.others.assign(static_cast<std::size_t>(other_call::kinds), 0);
    log.others[static_cast<std::size_t>(other_call::switched_off)] = 7;
  }
  return logs;
}

std::vector<rank_log> logs_of(const std::string& what) {
  const auto late = [](int) { return lateness{1, 2e-3}; };
  if (what == "late_rank") return two_ranks(late);
  if (what == "one_long_wait") return two_ranks([](int call) { return lateness{1, call == 7 ? 0.3 : 1e-6}; });
  if (what == "late_in_turn") return two_ranks([](int call) { return lateness{call % 2, 2e-3}; });
  if (what == "hardly_late") return two_ranks([](int) { return lateness{1, 8e-5}; });
  if (what == "native_faster") return sampled(30, transfer / 5, transfer / 50);
  if (what == "native_already") return native_already();
  if (what == "native_three_times") return sampled(3, transfer / 5, transfer / 50);
  if (what == "native_not_told_apart") return sampled(8, transfer * 0.9, transfer * 0.5);
  if (what == "passed_on") return passed_on();
  if (what == "side_by_side") return side_by_side();
  if (what == "oversubscribed") {
    auto logs = two_ranks(late);
    for (int rank = 2; rank < sysconf(_SC_NPROCESSORS_ONLN) + 2; ++rank) logs.push_back(log_of(rank, {rank}, 1));
    for (rank_log& log : logs) log.node = 0;
    return logs;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto logs = argc == 2 ? logs_of(argv[1]) : std::vector<rank_log>();
  if (logs.empty()) return 2;
  write_report(logs);
  if (const std::string& file = settings::get().metrics; !file.empty()) write_metrics(logs, file);
}
