// multilevel: an exchange inside nodes, then one between them, each by an algorithm of the list.
//
// Source:  taquin's own; aggregation as in MPI libraries' node-aware exchanges, with every rank of a node serving.
//          Levels compose: the exchange inside a node uses the levels inside it.
// Rounds:  those of the algorithms of all levels, one after the other; in irregular exchanges, an exchange of sizes
//          inside groups when the plan is made.
// Bytes:   between nodes what the algorithm there sends for blocks n times as large among N ranks; each block once
//          inside nodes.
// Memory:  on each level the larger of what a rank sends and what it forwards, the same for what it receives, and what
//          the levels' algorithms take.
// Limits:  separate buffers. The regular Bruck algorithms serve levels of equal nodes and equal blocks only.
// Wins:    small blocks on many nodes: log rounds of few messages, whose bytes cross a node's link less often than
//          those of log rounds among all ranks. With one rank per node it is the first level's algorithm, on one node
//          the last level's.
#include <algorithm>
#include <vector>

#include "algorithms/bruck/bruck.hpp"
#include "algorithms/nodes/level_choice.hpp"
#include "algorithms/nodes/level_shapes.hpp"
#include "algorithms/nodes/multilevel_operation.hpp"
#include "base/sizes.hpp"

namespace taquin::detail {

namespace {

// Memory of a rank in a group of `size` ranks that is one of s.nodes groups.
std::size_t memory_between(const shape& s, const options& o, std::string_view names, int size) noexcept;

// Memory of any rank. `exact`: the numbers of groups are those of this rank's level, rather than the most of any.
std::size_t memory_of(const shape& s, const options& o, std::string_view names, bool exact) noexcept {
  if (s.nodes == 0) return first_of(names).memory(s, options_of_first(o, names));
  std::size_t most = 0;
  if (!exact || s.nodes == 1) most = memory_of(one_group(s), o, after_first(names), exact);
  if (!exact || s.largest_node == 1) most = std::max(most, first_of(names).memory(s, options_of_first(o, names)));
  if (exact && most > 0) return most;
  shape some = s;
  for (some.nodes = exact ? s.nodes : 2; some.nodes <= s.nodes; ++some.nodes)
    for (int size = s.smallest_node; size <= s.largest_node; ++size)
      most = std::max(most, memory_between(some, o, names, size));
  return most;
}

std::size_t memory_between(const shape& s, const options& o, std::string_view names, int size) noexcept {
  const auto columns = as_size(level_part::columns_of(size, s.largest_node));
  return multilevel_operation::bytes(s, size) +
         columns * first_of(names).memory(column_of(s), options_of_first(o, names)) +
         memory_of(inside_of(s, size), o, after_first(names), false);
}

// Without nodes in the shape there is one node.
std::string_view names_for(const shape& s, const options& o) noexcept {
  return s.nodes == 0 ? after_first(o.multilevel.levels) : o.multilevel.levels;
}

// The first algorithm that does not serve its level, on any rank, in the order in which prepare_levels visits levels.
const algorithm* unfit(std::string_view names, const topology& t, const shape& s) {
  const auto leaf = [&s](std::string_view own) { return first_of(own).supports(s) ? nullptr : &first_of(own); };
  if (t.levels.empty() || t.nodes().largest() == 1) return leaf(names);
  if (t.nodes().groups() == 1 && t.levels.size() == 1) return leaf(after_first(names));
  const bool one = t.nodes().groups() == 1;
  if (!one && !first_of(names).supports(column_of(s))) return &first_of(names);
  for (int g = 0; g < t.nodes().groups(); ++g) {
    const topology inside = t.inside(g);
    shape in = one ? s : inside_of(s, t.nodes().size(g));
    describe(inside, in);
    if (const algorithm* a = unfit(after_first(names), inside, in)) return a;
  }
  return nullptr;
}

// Most algorithms serve all levels.
bool is_choosy(std::string_view names) {
  for (std::string_view rest = names;; rest = after_first(rest)) {
    if (!first_of(rest).supports({.ranks = 2, .kind = exchange::form::alltoallv, .uniform = false})) return true;
    if (after_first(rest) == rest) return false;
  }
}

// An algorithm may serve groups of one size but not the groups of different sizes on another node.
operation_ptr prepare_multilevel(const exchange& x, const context& c, memory_budget& budget) {
  if (is_choosy(c.opts->multilevel.levels))
    if (const algorithm* a = unfit(c.opts->multilevel.levels, c.nodes->topology, *c.shape)) throw not_served_inside(*a);
  return prepare_levels(x, c, c.opts->multilevel.levels, *c.nodes, budget);
}

std::size_t memory_of_multilevel(const shape& s, const options& o) {
  if (!any_automatic(o.multilevel.levels)) return memory_of(s, o, names_for(s, o), true);
  level_names names;
  const options own = with_levels(s, o, machine_model::built_in(), names);
  return memory_of(s, own, names_for(s, own), true);
}

seconds cost_of_multilevel(const shape& s, const options& o, const machine_model& m) noexcept {
  level_names names;
  const options own = with_levels(s, o, m, names);
  return cost_of_levels(s, own, m, names_for(s, own), true);
}

// With more rounds of fewer messages between nodes.
std::optional<options> variant_of_multilevel(const shape& s, const options& o) {
  const bool any_bruck = o.multilevel.levels.find("bruck") != std::string_view::npos;
  if (!any_bruck || o.bruck.radix || bruck::radix_of(o, s.nodes) <= 2) return std::nullopt;
  options binary = o;
  binary.bruck.radix = 2;
  return binary;
}

}  // namespace

const algorithm multilevel{
    .name = "multilevel",
    .summary = "level by level: inside nodes, then between them, each by an algorithm of the list",
    .source = "ours: node-aware exchanges, composed",
    .rounds = "those of the levels' algorithms",
    .needs_nodes = true,
    .memory = memory_of_multilevel,
    .cost = cost_of_multilevel,
    .variant = variant_of_multilevel,
    .prepare = prepare_multilevel,
};

}  // namespace taquin::detail
