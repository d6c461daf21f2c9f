// A recording as the page shows it. Sums over ranks are exact for any number of them; heat maps of many ranks are added
// up in groups of ranks, by nodes where these are known.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/sizes.hpp"
#include "cli/page_inputs.hpp"
#include "harness/recording.hpp"

namespace taquin::cli {

namespace {

using nlohmann::json;
using workloads::byte_matrix;
using workloads::traffic;

constexpr int most_cells_across = 1024;
constexpr std::size_t most_numbers = std::size_t{3} << 20U;  // of all matrices together
constexpr std::size_t most_calls = 20000;                    // single ones that the page shows

int groups_of(int ranks, int group) { return (ranks + group - 1) / group; }

std::size_t numbers_of(const byte_matrix& m, int group) {
  const auto across = detail::as_size(groups_of(m.ranks(), group));
  return std::min(across * across, 3 * m.flows().size());
}

// Ranks of a cell: as few as keep the page small; whole nodes where there are more.
int group_of(const traffic& t, int per_node) {
  const auto fits = [&](int group) {
    std::size_t all = 0;
    for (const byte_matrix& m : t.matrices) {
      if (groups_of(m.ranks(), group) > most_cells_across) return false;
      all += numbers_of(m, group);
    }
    return all <= most_numbers;
  };
  int group = 1;
  while (!fits(group) && group < t.ranks) group = group == 1 && per_node > 1 ? per_node : 2 * group;
  return group;
}

json cells_of(const byte_matrix& m, int group) {
  const int across = groups_of(m.ranks(), group);
  const auto n = detail::as_size(across);
  json j{{"ranks", m.ranks()}, {"total", m.total()}};
  const auto& flows = m.flows();
  if (group == 1 && flows.size() * 3 < n * n) {
    json list = json::array();
    for (const auto& f : flows) {
      list.push_back(f.from);
      list.push_back(f.to);
      list.push_back(f.bytes);
    }
    j["flows"] = std::move(list);
    return j;
  }
  const bool uniform = group == 1 && flows.size() == n * n &&
                       std::ranges::all_of(flows, [&](const auto& f) { return f.bytes == flows.front().bytes; });
  if (uniform) {
    j["uniform"] = flows.empty() ? 0 : flows.front().bytes;
    return j;
  }
  std::vector<count_t> cells(n * n);
  for (const auto& f : flows) cells[detail::as_size(f.from / group) * n + detail::as_size(f.to / group)] += f.bytes;
  j["cells"] = cells;
  return j;
}

// Calls of one kind on communicators of one index: a recording knows no call sites.
struct site {
  std::uint64_t calls = 0;
  double bytes = 0;
  double seconds = 0;
  double waiting = 0;  // of these, until the last rank had entered the call
  std::vector<double> sent;
  std::vector<double> received;
  std::map<int, std::pair<double, double>> sizes;  // by power of two, −1: empty blocks; blocks and bytes
};

void add(site& s, const byte_matrix& m, const workloads::recorded_call& c) {
  const auto n = detail::as_size(m.ranks());
  const auto times = static_cast<double>(c.repeats);
  s.sent.resize(n);
  s.received.resize(n);
  s.calls += c.repeats;
  s.seconds += times * c.seconds.mean;
  s.waiting += times * c.seconds.waiting;
  for (const auto& f : m.flows()) {
    const double bytes = times * static_cast<double>(f.bytes);
    s.bytes += bytes;
    s.sent[detail::as_size(f.from)] += bytes;
    s.received[detail::as_size(f.to)] += bytes;
    auto& size = s.sizes[static_cast<int>(std::bit_width(static_cast<std::uint64_t>(f.bytes))) - 1];
    size.first += times;
    size.second += bytes;
  }
  const double empty = static_cast<double>(n) * static_cast<double>(n) - static_cast<double>(m.flows().size());
  if (empty > 0) s.sizes[-1].first += times * empty;
}

json totals_of(const traffic& t, bool waiting_known) {
  const auto [seconds, waiting] = harness::busiest_rank(t);
  return {{"seconds", seconds}, {"waiting_seconds", waiting_known ? json(waiting) : json()}};
}

json json_of(const site& s, bool waiting_known) {
  json sizes = json::array();
  for (const auto& [power, size] : s.sizes)
    sizes.push_back({power < 0 ? 0 : std::uint64_t{1} << static_cast<unsigned>(power), size.first, size.second});
  return {{"waiting", waiting_known ? json(s.waiting) : json()},
          {"calls", s.calls},
          {"bytes", s.bytes},
          {"seconds", s.seconds},
          {"sent", s.sent},
          {"received", s.received},
          {"sizes", std::move(sizes)}};
}

}  // namespace

json page_traffic(const traffic& t, int per_node) {
  const int group = group_of(t, per_node);
  // A recording without any waiting was made by a version that did not measure waiting.
  const bool waiting_known = std::ranges::any_of(t.calls, [](const auto& c) { return c.seconds.waiting > 0; });
  json j{{"program", t.program}, {"ranks", t.ranks}, {"group", group}, {"per_node", per_node}};
  j["communicators"] = json::array();
  for (const auto& c : t.communicators) j["communicators"].push_back({{"ranks", c.size()}, {"first", c.front()}});
  j["matrices"] = json::array();
  for (const auto& m : t.matrices) j["matrices"].push_back(cells_of(m, group));
  using key = std::tuple<std::size_t, workloads::call_kind, bool>;
  std::map<key, std::size_t> known;
  std::vector<site> sites;
  j["sites"] = json::array();
  j["calls"] = json::array();
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> matrix_calls;  // of a site, of a matrix
  for (const auto& c : t.calls) {
    const auto [at, added] = known.try_emplace({c.communicator, c.kind, c.in_place}, sites.size());
    if (added) {
      sites.emplace_back();
      j["sites"].push_back(
          {{"communicator", c.communicator}, {"kind", workloads::name_of(c.kind)}, {"in_place", c.in_place}});
    }
    const auto& m = t.matrices[c.matrix];
    add(sites[at->second], m, c);
    matrix_calls[{at->second, c.matrix}] += c.repeats;
    if (j["calls"].size() < most_calls)
      j["calls"].push_back({at->second, c.matrix, c.repeats, c.seconds.min, c.seconds.mean, c.seconds.max, m.total(),
                            waiting_known ? json(c.seconds.waiting) : json()});
  }
  j["entries"] = t.calls.size();
  j["totals"] = totals_of(t, waiting_known);
  for (std::size_t i = 0; i < sites.size(); ++i) j["sites"][i].update(json_of(sites[i], waiting_known));
  for (auto& s : j["sites"]) s["matrices"] = json::array();
  for (const auto& [which, calls] : matrix_calls) j["sites"][which.first]["matrices"].push_back({which.second, calls});
  return j;
}

}  // namespace taquin::cli
