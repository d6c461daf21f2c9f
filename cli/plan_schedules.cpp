// `taquin plan --json`: the moves of all ranks, round by round.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/plan_json.hpp"
#include "harness/offline.hpp"
#include "harness/why_not.hpp"
#include "simulation/print.hpp"
#include "simulation/whole.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

namespace {

using nlohmann::json;

detail::whole_exchange whole_of(const planned& p) {
  detail::whole_exchange x(p.size.ranks, p.kind);
  for (int from = 0; from < p.size.ranks; ++from) {
    const auto row = p.what.row(p.size, from);
    for (int to = 0; to < p.size.ranks; ++to) x.bytes(from, to) = row[detail::as_size(to)];
  }
  return x;
}

// The shape, identical on all ranks, on nodes of that many ranks.
detail::shape shape_on(const detail::algorithm& a, const planned& p, const detail::topology& nodes) {
  detail::shape s = offline_shape(p.what, p.size, p.kind, buffering::separate);
  if (a.needs_nodes) describe(nodes, s);
  s.shared = nodes.nodes().groups() == 1;
  return s;
}

// Whether the contents of messages are shown: this runs the exchange, and larger output is unreadable.
bool can_be_traced(const detail::whole_exchange& x) {
  constexpr count_t most_bytes = count_t{64} << 20;
  if (x.ranks() > detail::whole_exchange::most_traced) return false;
  count_t bytes = 0;
  for (int rank = 0; rank < x.ranks() && bytes <= most_bytes; ++rank) bytes += x.sent(rank);
  return bytes <= most_bytes;
}

}  // namespace

json json_of(const detail::whole_moves& moves, bool traced) {
  json rounds = json::array();
  for (const auto& round : moves.rounds) {
    json messages = json::array();
    json copies = json::array();
    json scratch = json::array();
    for (const auto& m : round.messages) {
      messages.push_back({m.from, m.to, m.bytes});
      if (traced) messages.back().push_back(m.blocks);
    }
    for (const auto& c : round.copies) copies.push_back({c.rank, c.bytes, name_of(c.from), name_of(c.to)});
    for (const auto& k : round.scratch) scratch.push_back({k.rank, k.bytes});
    rounds.push_back({{"messages", messages}, {"copies", copies}, {"scratch", scratch}});
  }
  return rounds;
}

void write_nodes(json& plan, const detail::topology& t) {
  const detail::level& n = t.nodes();
  std::vector<int> sizes;
  sizes.reserve(static_cast<std::size_t>(n.groups()));
  for (int g = 0; g < n.groups(); ++g) sizes.push_back(n.size(g));
  bool identical = true;  // but the last, which may have fewer
  for (std::size_t g = 1; g < sizes.size(); ++g)
    identical = identical && (sizes[g] == sizes[0] || (g + 1 == sizes.size() && sizes[g] < sizes[0]));
  plan["per_node"] = identical && sizes[0] > 1 ? sizes[0] : 0;
  plan["nodes"] = sizes;
}

json plan_of_moves(const detail::algorithm& a, const planned& p) {
  auto nodes = p.nodes.value_or(detail::topology::of_single_ranks(p.size.ranks));
  auto shape = shape_on(a, p, nodes);
  if (!p.nodes && !a.supports(shape)) {  // algorithms for one node only are drawn on one node
    const auto one = detail::topology::of_sizes(std::vector{p.size.ranks});
    if (const auto on_one = shape_on(a, p, one); a.supports(on_one)) {
      nodes = one;
      shape = on_one;
    }
  }
  if (!a.supports(shape))
    throw usage(fmt::format("algorithm '{}' does not serve this exchange: {}", a.name, why_not(a, shape)));
  detail::whole_exchange x = whole_of(p);
  x.nodes = &nodes;
  x.traced = can_be_traced(x);
  std::vector<int> members(detail::as_size(p.size.ranks));
  std::iota(members.begin(), members.end(), 0);
  detail::whole_moves moves;
  try {
    add_moves(a, x, shape, p.opts, {moves, members});
  } catch (const detail::too_many_messages& e) {
    throw usage(fmt::format("{}: fewer ranks are needed for --json", e.what()));
  }
  moves.drop_empty_rounds();
  json j{{"taquin_plan", 1},
         {"algorithm", a.name},
         {"ranks", p.size.ranks},
         {"workload", p.workload},
         {"bytes_per_rank", p.size.bytes},
         {"memory", a.memory(shape, p.opts)},
         {"scratch_bytes", moves.scratch_bytes},
         {"rounds", json_of(moves, x.traced)}};
  write_nodes(j, nodes);
  if (moves.through_memory) j["through_memory"] = true;
  if (!moves.drawn_as.empty()) j["drawn_as"] = moves.drawn_as;
  if (!moves.note.empty()) j["note"] = moves.note;
  return j;
}

}  // namespace taquin::cli
