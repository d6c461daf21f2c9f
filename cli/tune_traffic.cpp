#include "cli/tune_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/rules.hpp"
#include "harness/cases.hpp"
#include "harness/errors.hpp"
#include "harness/measure.hpp"
#include "harness/records.hpp"
#include "harness/sizes.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "workloads/shapes.hpp"

namespace taquin::cli {

namespace {

// Calls of the recording that are measured as one.
std::vector<workloads::recorded_call> kinds_of_calls(const workloads::traffic& t) {
  std::map<std::tuple<std::size_t, std::size_t, exchange::form, bool, bool>, workloads::recorded_call> kinds;
  for (const auto& call : t.calls) {
    const bool plan = call.form != workloads::call_form::blocking;
    const auto [kind, first] =
        kinds.try_emplace({call.communicator, call.matrix, workloads::form_of(call.kind), call.in_place, plan}, call);
    if (!first) kind->second.repeats += call.repeats;
  }
  std::vector<workloads::recorded_call> all;
  all.reserve(kinds.size());
  for (auto& [key, call] : kinds) all.push_back(call);
  return all;
}

// Those that move most bytes come first.
void sort_by_bytes(std::vector<workloads::recorded_call>& kinds, const workloads::traffic& t) {
  std::ranges::stable_sort(kinds, std::greater{}, [&](const workloads::recorded_call& call) {
    const detail::shape s = workloads::shape_of(t, call);
    return static_cast<double>(std::max(s.max_rank_bytes, s.max_received_bytes)) * static_cast<double>(call.repeats);
  });
}

// Its time by each algorithm that serves, and by what it goes by without a rule.
std::map<std::string, timing> times_of(const workloads::traffic& t, const workloads::recorded_call& call,
                                       int repetitions) {
  workloads::traffic one = t;
  one.calls = {call};
  one.calls.front().repeats = 1;
  one.calls.front().in_flight = 0;
  const test_case test(one, false);
  arenas memory(std::pmr::new_delete_resource(), test.calls());
  auto names = test.served_by();
  names.insert(names.begin(), {"native", "auto"});
  std::vector<contender> contenders(names.size() + 1);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) contenders[i + 1].requested = names[i];
  measure(test.calls(), memory, contenders, {.repetitions = repetitions, .drop = not_worth_measuring},
          [](auto&&...) {});
  std::map<std::string, timing> times;
  for (const contender& c : contenders) {
    if (c.raw || c.fault) continue;
    if (c.wrong != 0) throw harness::failure(fmt::format("{} gave {} wrong bytes", c.requested, c.wrong));
    times[c.requested] = timing_of(c.seconds);
  }
  return times;
}

}  // namespace

std::string tune_traffic(const workloads::traffic& t, int repetitions, double within, detail::profile& p,
                         progress& display, const std::function<void(const detail::profile&)>& keep) {
  auto& world = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  if (const auto invalid = detail::check_nodes(world, {})) throw usage(invalid->what);
  const auto& nodes = detail::nodes_of(world, {})->topology.nodes().group;  // as rules are matched
  auto kinds = kinds_of_calls(t);
  sort_by_bytes(kinds, t);
  const time_limit_of_all limit(within);
  std::vector<measured_call> measured;
  std::string table;
  std::size_t i = 0;
  for (; i < kinds.size() && !limit.done(); ++i) {
    const auto& call = kinds[i];
    const detail::shape s = workloads::shape_of(t, call);
    std::set<int> on;
    for (const int rank : t.communicators[call.communicator]) on.insert(nodes[detail::as_size(rank)]);
    measured_call m{.kind = s.kind,
                    .in_place = s.in_place,
                    .reused = call.form != workloads::call_form::blocking,
                    .ranks = s.ranks,
                    .nodes = static_cast<int>(on.size()),
                    .bytes = static_cast<double>(std::max(s.max_rank_bytes, s.max_received_bytes)),
                    .calls = call.repeats};
    const std::string what =
        fmt::format("{} {} on {} ranks{}{}", workloads::name_of(call.kind), show_size(static_cast<count_t>(m.bytes)),
                    m.ranks, m.reused ? ", by a plan" : "", m.in_place ? ", in place" : "");
    display.show(what, static_cast<double>(i) / static_cast<double>(kinds.size()));
    m.seconds = times_of(t, call, repetitions);
    if (!m.seconds.empty()) {
      const auto [name, time] =
          *std::ranges::min_element(m.seconds, {}, [](const auto& one) { return one.second.median; });
      table += fmt::format("{:<52} {:>7} calls  {:<20} {}\n", what, m.calls, name, show_timing(time));
    }
    measured.push_back(std::move(m));
    p.rules = rules_of(measured).rules;
    keep(p);
  }
  table += words_of(rules_of(measured).doubts);
  table += left_over("kinds of calls that move less", kinds.size() - i, within);
  return table;
}

}  // namespace taquin::cli
