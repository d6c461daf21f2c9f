#include "cli/node_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "base/environment.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/misspelt.hpp"
#include "select/profile.hpp"

namespace taquin::cli {

namespace {

constexpr int most_ranks_on_nodes = 1 << 20;

struct node_lists {
  std::vector<int> nodes;
  std::vector<std::vector<int>> groups;
};

std::string text_of(const node_flags& f) {
  if (!f.nodes.empty()) return f.nodes;
  const char* const set = f.per_node > 0 ? nullptr : std::getenv("TAQUIN_NODES");
  return set != nullptr ? set : "";
}

const char* name_of(const node_flags& f) { return f.nodes.empty() ? "TAQUIN_NODES" : "--nodes"; }

void check_sum(const node_flags& f, const std::vector<int>& sizes, std::int64_t ranks) {
  for (const int n : sizes)
    if (n < 1) throw usage(fmt::format("{} {}: a node of {} ranks", name_of(f), text_of(f), n));
  const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (sum != ranks)
    throw usage(fmt::format("{} {}: {} ranks on nodes, {} ranks in the exchange", name_of(f), text_of(f), sum, ranks));
}

node_lists lists_of(const node_flags& f) {
  node_lists l;
  const std::string text = text_of(f);
  if (!detail::parse_nodes(text, l.nodes, l.groups))
    throw usage(
        fmt::format("{} must be numbers of ranks separated by commas, as 1,4,2,8 or 4x16, not '{}'", name_of(f), text));
  const auto sum = std::accumulate(l.nodes.begin(), l.nodes.end(), std::int64_t{0});
  if (sum > most_ranks_on_nodes)
    throw usage(fmt::format("{} {}: more than {} ranks", name_of(f), text, most_ranks_on_nodes));
  check_sum(f, l.nodes, sum);
  return l;
}

}  // namespace

bool node_flags::listed() const { return !text_of(*this).empty(); }

int node_flags::ranks() const {
  if (!listed()) return 0;
  const auto l = lists_of(*this);
  return std::accumulate(l.nodes.begin(), l.nodes.end(), 0);
}

std::optional<detail::topology> node_flags::of(int ranks) const {
  if (listed()) {
    const auto l = lists_of(*this);
    check_sum(*this, l.nodes, ranks);
    auto t = detail::topology::of_sizes(l.nodes);
    for (const auto& groups : l.groups) {
      check_sum(*this, groups, ranks);
      t.refine("group", detail::topology::of_sizes(groups).nodes().group);
    }
    return t;
  }
  if (per_node == 0) return std::nullopt;
  std::vector<int> sizes(detail::as_size(ranks / per_node), per_node);
  if (ranks % per_node > 0) sizes.push_back(ranks % per_node);
  return detail::topology::of_sizes(sizes);
}

int node_flags::identical(int ranks) const {
  if (!listed()) return per_node;
  const auto t = of(ranks);
  const detail::level& n = t->nodes();
  for (int g = 0; g + 1 < n.groups(); ++g)
    if (n.size(g) != n.size(0) || n.size(n.groups() - 1) > n.size(0))
      throw usage("a sparse exchange is simulated on nodes of equally many ranks, but the last");
  return n.size(0);
}

void add_node_flags(CLI::App& app, node_flags& into, const std::string& otherwise, const std::string& cores) {
  auto* listed = app.add_option("--nodes", into.nodes, "ranks of each node: 1,4,2,8 or 4x16; default: TAQUIN_NODES")
                     ->type_name("LIST");
  app.add_option("--per-node", into.per_node, "ranks per node; default: " + otherwise)
      ->check(at_least_one())
      ->excludes(listed);
  if (!cores.empty())
    app.add_option("--cores", into.cores, "cores of a node, which its ranks share; default: " + cores)
        ->check(at_least_one());
}

std::string words_of(const detail::topology& t) {
  const detail::level& n = t.nodes();
  if (n.groups() == 1) return "one node";
  if (n.largest() == n.smallest())
    return fmt::format("{} nodes of {} {}", n.groups(), n.largest(), n.largest() == 1 ? "rank" : "ranks");
  std::vector<int> sizes;
  sizes.reserve(detail::as_size(n.groups()));
  for (int g = 0; g < n.groups(); ++g) sizes.push_back(n.size(g));
  const int last = sizes.back();
  sizes.pop_back();
  return fmt::format("{} nodes of {} and {} ranks", n.groups(), fmt::join(sizes, ", "), last);
}

std::string words_of(const detail::topology& t, int cores) {
  if (cores == 0) return words_of(t) + ", a core for each rank";
  return fmt::format("{}, {} {}{}", words_of(t), cores, cores == 1 ? "core" : "cores",
                     t.nodes().groups() == 1 ? "" : " each");
}

detail::profile profile_of_model(const std::string& file) {
  try {
    return file.empty() ? detail::profile{} : detail::read_profile(file);
  } catch (const detail::profile_error& e) {
    throw usage(e.what());
  }
}

}  // namespace taquin::cli
