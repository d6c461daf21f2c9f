#include "cli/explain_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/algorithm.hpp"
#include "cli/cases.hpp"
#include "cli/report.hpp"
#include "select/choose.hpp"

namespace taquin::cli {

namespace {

std::uint64_t unsigned_of(count_t n) { return static_cast<std::uint64_t>(n); }

}  // namespace

detail::shape shape_of(const workloads::traffic& t, const workloads::recorded_call& call) {
  const auto& m = t.matrices[call.matrix];
  detail::shape s{.ranks = m.ranks(),
                  .kind = form_of(call.kind),
                  .in_place = call.in_place,
                  .shared = true,
                  .one_unit = call.in_place,
                  .unit_size = call.in_place ? unsigned_of(call.element_bytes) : 0,
                  .nodes = 1,
                  .largest_node = m.ranks(),
                  .smallest_node = m.ranks()};
  const auto cells = static_cast<std::size_t>(m.ranks()) * static_cast<std::size_t>(m.ranks());
  std::uint64_t least = m.flows().size() == cells && cells > 0 ? unsigned_of(m.flows().front().bytes) : 0;
  for (const auto& f : m.flows()) {
    s.max_block_bytes = std::max(s.max_block_bytes, unsigned_of(f.bytes));
    least = std::min(least, unsigned_of(f.bytes));
  }
  s.min_block_bytes = least;
  s.uniform = least == s.max_block_bytes;
  for (int rank = 0; rank < m.ranks(); ++rank) {
    for (const auto& row : {m.sent_by(rank), m.received_by(rank)}) {
      const auto peers = std::ranges::count_if(row, [](count_t n) { return n > 0; });
      s.max_peers = std::max(s.max_peers, static_cast<int>(peers));
    }
    const auto sum = [](const std::vector<count_t>& row) {
      return std::accumulate(row.begin(), row.end(), count_t{0});
    };
    s.max_rank_bytes = std::max(s.max_rank_bytes, unsigned_of(sum(m.sent_by(rank))));
    s.max_received_bytes = std::max(s.max_received_bytes, unsigned_of(sum(m.received_by(rank))));
  }
  return s;
}

namespace {

// Calls that are explained alike.
struct kind_of_call {
  workloads::call_kind kind;
  bool in_place;
  std::size_t matrix;
  auto operator<=>(const kind_of_call&) const = default;
};

}  // namespace

int explain_traffic(const workloads::traffic& t, const memory_choice& memory,
                    const std::function<detail::profile(int ranks)>& profile_for, bool persistent, bool json,
                    bool speaks) {
  std::map<kind_of_call, std::pair<const workloads::recorded_call*, std::uint64_t>> kinds;
  for (const auto& call : t.calls) {
    auto& [first, calls] = kinds[{call.kind, call.in_place, call.matrix}];
    if (first == nullptr) first = &call;
    calls += call.repeats;
  }
  std::map<int, detail::profile> profiles;
  auto rows = nlohmann::json::array();
  for (const auto& [kind, what] : kinds) {
    detail::shape s = shape_of(t, *what.first);
    const auto [known, fresh] = profiles.try_emplace(s.ranks);
    if (fresh) known->second = profile_for(s.ranks);
    const std::size_t limit = memory.limit(static_cast<count_t>(s.max_rank_bytes));
    s.memory_limit = limit;
    const auto* chosen = detail::select(s, {}, persistent, limit, known->second);
    const bool fits = chosen != nullptr && chosen->memory(s, {}) <= limit;
    nlohmann::json predicted;
    auto all = nlohmann::json::object();
    for (const auto& c : detail::candidates(s, {}, persistent, known->second)) {
      if (!c.supported || c.memory > limit) continue;
      all[std::string(c.what->name)] = c.time;
      if (fits && c.what == chosen) predicted = c.time;
    }
    rows.push_back({{"kind", workloads::name_of(kind.kind)},
                    {"in_place", kind.in_place},
                    {"ranks", s.ranks},
                    {"calls", what.second},
                    {"max_block_bytes", s.max_block_bytes},
                    {"bytes_per_rank", s.max_rank_bytes},
                    {"chosen", fits ? nlohmann::json(chosen->name) : nlohmann::json()},
                    {"predicted_s", predicted},
                    {"candidates", all}});
  }
  if (!speaks) return 0;
  if (json) {
    fmt::print("{}\n", rows.dump(2));
    return 0;
  }
  fmt::print("{:>8} {:<10} {:>6} {:>10} {:>10} {:>12}  {}\n", "calls", "kind", "ranks", "most/pair", "most/rank",
             "predicted", "chosen");
  for (const auto& r : rows)
    fmt::print("{:>8} {:<10} {:>6} {:>10} {:>10} {:>12}  {}\n", r["calls"].get<std::uint64_t>(),
               r["kind"].get<std::string>() + (r["in_place"].get<bool>() ? "*" : ""), r["ranks"].get<int>(),
               show_size(r["max_block_bytes"]), show_size(r["bytes_per_rank"]),
               r["predicted_s"].is_null() ? "-" : show_seconds(r["predicted_s"]),
               r["chosen"].is_null() ? "nothing serves within the memory allowed" : r["chosen"].get<std::string>());
  return 0;
}

}  // namespace taquin::cli
