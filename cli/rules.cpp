#include "cli/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "harness/records.hpp"
#include "harness/sizes.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"

namespace taquin::cli {

namespace {

// Calls of a size: the algorithms that all of them can be done by, with their times over all of them.
struct size_class {
  std::map<std::string, timing> times;
  std::uint64_t calls = 0;
};

void add(size_class& all, const measured_call& c) {
  if (all.calls > 0) std::erase_if(all.times, [&](const auto& t) { return !c.seconds.contains(t.first); });
  const auto times = static_cast<double>(c.calls);
  for (const auto& [name, t] : c.seconds) {
    const auto found = all.calls == 0 ? all.times.try_emplace(name).first : all.times.find(name);
    if (found == all.times.end()) continue;
    timing& sum = found->second;
    sum = {sum.median + t.median * times, sum.low + t.low * times, sum.high + t.high * times};
  }
  all.calls += c.calls;
}

// The competitor whose interval overlaps the best one's.
std::optional<std::string> rival(const std::map<std::string, timing>& times, const std::string& best) {
  const bool known = times.contains("auto") || (times.contains("native") && best != "native");
  for (const auto& [name, t] : times)
    if (name != best && (!known || name == "auto" || name == "native") && t.low <= times.at(best).high) return name;
  return std::nullopt;
}

}  // namespace

bool time_limit_of_all::done() const {
  bool now = MPI_Wtime() - start_ >= seconds_;
  TAQUIN_MPI(MPI_Bcast(&now, 1, MPI_CXX_BOOL, 0, MPI_COMM_WORLD));
  return now;
}

std::string left_over(const std::string& what, std::size_t number, double seconds) {
  if (number == 0) return {};
  return fmt::format("{} {} were not measured within {:g} s; --within takes more\n", number, what, seconds);
}

timing timing_of(const std::vector<double>& seconds) {
  constexpr double least = 1e-9;  // a clock's tick may be longer than an exchange of nothing
  if (seconds.size() < least_samples)
    return {std::max(harness::median(seconds), least), 0, std::numeric_limits<double>::infinity()};
  const auto s = harness::summarise(seconds);
  return {std::max(s.median, least), std::max(s.ci95.low, least), std::max(s.ci95.high, least)};
}

ruling rules_of(const std::vector<measured_call>& calls) {
  using kind = std::tuple<exchange::form, bool, bool, int, int>;
  std::map<kind, std::map<double, size_class>> kinds;
  for (const measured_call& c : calls) add(kinds[{c.kind, c.in_place, c.reused, c.ranks, c.nodes}][c.bytes], c);
  ruling result;
  for (const auto& [k, sizes] : kinds) {
    const auto& [form, in_place, reused, ranks, nodes] = k;
    double before = 0;     // the last size
    std::string followed;  // the last size's rule; empty: it has none
    for (const auto& [bytes, what] : sizes) {
      auto by = what.times;
      by.erase("auto");  // no name of an algorithm
      if (by.empty()) continue;
      const auto best = std::ranges::min_element(by, {}, [](const auto& t) { return t.second.median; });
      const auto other = rival(what.times, best->first);
      const double from = before > 0 ? std::sqrt(before * bytes) : bytes / 2;
      if (other)
        result.doubts.push_back({{form, in_place, reused, ranks, nodes, bytes, what.calls, {}},
                                 best->first,
                                 *other,
                                 best->second,
                                 what.times.at(*other)});
      const std::string next = other ? "" : best->first;
      if (next != followed || before == 0) {
        if (!followed.empty()) result.rules.back().most_bytes = from;
        if (!next.empty())
          result.rules.push_back({.algorithm = next,
                                  .kind = form,
                                  .in_place = in_place,
                                  .reused = reused,
                                  .ranks = ranks,
                                  .nodes = nodes,
                                  .least_bytes = from});
      }
      if (!next.empty()) result.rules.back().most_bytes = 2 * bytes;
      followed = next;
      before = std::max(bytes, 1.0);
    }
  }
  return result;
}

std::string show_timing(const timing& t) {
  using harness::show_seconds;
  if (!std::isfinite(t.high)) return fmt::format("{} (fewer than {} samples)", show_seconds(t.median), least_samples);
  return fmt::format("{} ({} .. {})", show_seconds(t.median), show_seconds(t.low), show_seconds(t.high));
}

std::string words_of(const doubt& d) {
  return fmt::format("{} {} and {} {} are not told apart", d.best, show_timing(d.best_takes), d.other,
                     show_timing(d.other_takes));
}

std::string words_of(const std::vector<doubt>& all) {
  const auto kind_of = [](const doubt& d) {
    return std::tuple(d.of.kind, d.of.ranks, d.of.nodes, d.of.reused, d.of.in_place);
  };
  std::map<decltype(kind_of(all.front())), std::vector<const doubt*>> kinds;
  for (const doubt& d : all) kinds[kind_of(d)].push_back(&d);
  std::string lines;
  for (const auto& [kind, doubts] : kinds) {
    const auto bytes_of = [](const doubt* d) { return d->of.bytes; };
    const auto [least, most] = std::ranges::minmax_element(doubts, {}, bytes_of);
    const auto size = [&](auto d) { return harness::show_size(static_cast<count_t>(bytes_of(*d))); };
    const std::string sizes =
        doubts.size() == 1 ? size(most) : fmt::format("{} sizes from {} to {}", doubts.size(), size(least), size(most));
    const auto& of = (*most)->of;
    lines +=
        fmt::format("no rule for {} of {} on {} ranks{}{}{}: {}{}; auto decides\n", detail::name_of(of.kind), sizes,
                    of.ranks, of.nodes > 1 ? fmt::format(", {} nodes", of.nodes) : "", of.reused ? ", by a plan" : "",
                    of.in_place ? ", in place" : "", doubts.size() == 1 ? "" : "for example ", words_of(**most));
  }
  return lines;
}

}  // namespace taquin::cli
