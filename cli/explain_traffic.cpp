#include "cli/explain_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "cli/command.hpp"
#include "cli/explanation.hpp"
#include "cli/json_option.hpp"
#include "harness/cases.hpp"
#include "harness/records.hpp"
#include "select/choose.hpp"
#include "workloads/shapes.hpp"

namespace taquin::cli {

namespace {

// Calls with the same explanation.
struct kind_of_call {
  workloads::call_kind kind;
  bool in_place;
  bool reused;  // by a plan, as a replay does it
  std::size_t matrix;
  auto operator<=>(const kind_of_call&) const = default;  // NOLINT(modernize-use-nullptr): the check misreads it
};

nlohmann::json row_of(const kind_of_call& kind, std::uint64_t calls, const explanation& e) {
  const detail::algorithm* const chosen = e.chosen();
  nlohmann::json predicted;
  nlohmann::json measured;  // when the profile was made
  auto all = nlohmann::json::object();
  auto in_profile = nlohmann::json::object();
  for (const auto& c : e.all) {
    if (c.what == nullptr || !c.supported || (c.memory > e.limit && c.what != chosen)) continue;
    const std::string name(c.what->name);
    all[name] = c.predicted;
    if (c.measured) in_profile[name] = c.time;
    if (c.what != chosen) continue;
    predicted = c.predicted;
    if (c.measured) measured = c.time;
  }
  return {{"kind", workloads::name_of(kind.kind)},
          {"in_place", kind.in_place},
          {"reused", kind.reused},
          {"ranks", e.shape.ranks},
          {"calls", calls},
          {"max_block_bytes", e.shape.max_block_bytes},
          {"bytes_per_rank", e.shape.max_rank_bytes},
          {"chosen", chosen != nullptr ? nlohmann::json(chosen->name) : nlohmann::json()},
          {"predicted_s", predicted},
          {"profile_s", measured},
          {"candidates", all},
          {"candidates_in_profile", in_profile}};
}

void print(const std::string& title, const nlohmann::json& rows) {
  const auto time = [](const nlohmann::json& r, const char* key) {
    return r[key].is_null() ? "-" : show_seconds(r[key]);
  };
  fmt::print("{}\n{:>8} {:<10} {:<8} {:>6} {:>10} {:>10} {:>12} {:>12}  {}\n", title, "calls", "kind", "as", "ranks",
             "most/pair", "most/rank", "predicted", "in profile", "chosen");
  for (const auto& r : rows)
    fmt::print("{:>8} {:<10} {:<8} {:>6} {:>10} {:>10} {:>12} {:>12}  {}\n", r["calls"].get<std::uint64_t>(),
               r["kind"].get<std::string>() + (r["in_place"].get<bool>() ? "*" : ""),
               r["reused"].get<bool>() ? "plan" : "blocking", r["ranks"].get<int>(), show_size(r["max_block_bytes"]),
               show_size(r["bytes_per_rank"]), time(r, "predicted_s"), time(r, "profile_s"),
               r["chosen"].is_null() ? "nothing serves within the memory allowed" : r["chosen"].get<std::string>());
}

}  // namespace

int explain_traffic(const workloads::traffic& t, const std::string& title, const memory_choice& memory,
                    const std::function<detail::profile(int ranks)>& profile_for, bool persistent,
                    const std::string& json, bool speaks) {
  std::map<kind_of_call, std::pair<const workloads::recorded_call*, std::uint64_t>> kinds;
  for (const auto& call : t.calls) {
    const bool reused = persistent || call.form != workloads::call_form::blocking;
    auto& [first, calls] = kinds[{call.kind, call.in_place, reused, call.matrix}];
    if (first == nullptr) first = &call;
    calls += call.repeats;
  }
  std::map<int, detail::profile> profiles;
  std::map<int, placement> places;
  auto rows = nlohmann::json::array();
  for (const auto& [kind, what] : kinds) {
    const detail::shape s = workloads::shape_of(t, *what.first);
    const auto [on, fresh] = places.try_emplace(s.ranks);
    if (fresh) {
      on->second = placement::of(detail::topology::of_sizes(std::vector{s.ranks}));
      profiles[s.ranks] = profile_for(s.ranks);
    }
    const std::size_t limit = memory.limit(static_cast<count_t>(s.max_rank_bytes));
    rows.push_back(
        row_of(kind, what.second, explain(t, *what.first, kind.reused, limit, on->second, profiles.at(s.ranks))));
  }
  if (!speaks) return 0;
  if (!json.empty()) {
    write_text(json, rows.dump(2) + "\n");
    return 0;
  }
  print(title, rows);
  return 0;
}

}  // namespace taquin::cli
