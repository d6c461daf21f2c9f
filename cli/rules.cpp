#include "cli/rules.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace taquin::cli {

namespace {

// The algorithms that all calls of a size can be done by, with their times over all of them.
using times = std::map<std::string, double>;

void add(times& all, const measured_call& c, bool first) {
  if (!first) std::erase_if(all, [&](const auto& t) { return !c.seconds.contains(t.first); });
  for (const auto& [name, seconds] : c.seconds) {
    const auto found = first ? all.try_emplace(name, 0).first : all.find(name);
    if (found != all.end()) found->second += seconds * static_cast<double>(c.calls);
  }
}

}  // namespace

std::vector<detail::rule> rules_of(const std::vector<measured_call>& calls) {
  using kind = std::tuple<exchange::form, bool, bool, int, int>;
  std::map<kind, std::map<double, times>> kinds;
  for (const measured_call& c : calls) {
    auto& sizes = kinds[{c.kind, c.in_place, c.reused, c.ranks, c.nodes}];
    const auto [size, first] = sizes.try_emplace(c.bytes);
    add(size->second, c, first);
  }
  std::vector<detail::rule> rules;
  for (const auto& [k, sizes] : kinds) {
    double before = 0;  // the largest size of the last rule
    for (const auto& [bytes, by] : sizes) {
      if (by.empty()) continue;
      const auto best = std::ranges::min_element(by, {}, [](const auto& t) { return t.second; });
      const bool same = before > 0 && rules.back().algorithm == best->first;
      if (!same) {
        const double from = before > 0 ? std::sqrt(before * bytes) : bytes / 2;
        if (before > 0) rules.back().most_bytes = from;
        rules.push_back({.algorithm = best->first,
                         .kind = std::get<0>(k),
                         .in_place = std::get<1>(k),
                         .reused = std::get<2>(k),
                         .ranks = std::get<3>(k),
                         .nodes = std::get<4>(k),
                         .least_bytes = from});
      }
      rules.back().most_bytes = 2 * bytes;
      before = std::max(bytes, 1.0);
    }
  }
  return rules;
}

}  // namespace taquin::cli
