// `taquin plan --json`: what all ranks do, round by round.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <numeric>
#include <span>

#include "algorithms/whole.hpp"
#include "cli/command.hpp"
#include "cli/offline.hpp"
#include "cli/plan_json.hpp"
#include "schedule/simulated.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

namespace {

using detail::place;
using detail::schedule;
using nlohmann::json;

constexpr int most_with_blocks = 64;  // ranks whose messages are told by block

const char* name_of(place where) {
  switch (where) {
    case place::send:
      return "send";
    case place::recv:
      return "receive";
    case place::shared:
      return "shared";
    case place::scratch:
      break;
  }
  return "scratch";
}

detail::topology topology_of(int ranks, int per_node) {
  if (per_node <= 0) return detail::topology::of_single_ranks(ranks);
  std::vector<int> sizes(static_cast<std::size_t>(ranks / per_node), per_node);
  if (ranks % per_node > 0) sizes.push_back(ranks % per_node);
  return detail::topology::of_sizes(sizes);
}

using blocks_of_message = std::vector<std::pair<int, int>>;

// What each message carries: the schedules are run with blocks that hold their two ranks.
std::vector<std::vector<blocks_of_message>> payloads(const detail::algorithm& a, const planned& p) {
  using name = std::array<std::int32_t, 2>;
  const auto n = static_cast<std::size_t>(p.size.ranks);
  workloads::problem_size size = p.size;
  size.bytes = static_cast<count_t>(sizeof(name) * n);
  const auto w = workloads::workload::parse("uniform");
  const auto shape = offline_shape(w, size, p.kind, buffering::separate);
  std::list<schedule> plans;
  std::vector<std::vector<name>> sent(n, std::vector<name>(n));
  std::vector<std::vector<name>> received(n, std::vector<name>(n));
  std::vector<std::vector<blocks_of_message>> result(n);
  std::vector<detail::simulated_rank> ranks;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) sent[i][j] = {static_cast<int>(i), static_cast<int>(j)};
    const offline_rank one(w, size, p.kind, static_cast<int>(i));
    plans.push_back(a.build(one.local(), shape, p.opts, std::pmr::new_delete_resource()));
    result[i].resize(plans.back().messages.size());
    ranks.push_back({&plans.back(), std::as_writable_bytes(std::span(sent[i])).data(),
                     std::as_writable_bytes(std::span(received[i])).data()});
  }
  run_simulated(ranks, detail::delivery::eager, {},
                [&](int rank, std::uint32_t index, std::span<const std::byte> data) {
                  for (std::size_t at = 0; at + sizeof(name) <= data.size(); at += sizeof(name)) {
                    name block;
                    std::memcpy(block.data(), data.data() + at, sizeof block);
                    result[static_cast<std::size_t>(rank)][index].emplace_back(block[0], block[1]);
                  }
                });
  return result;
}

detail::whole_exchange whole_of(const planned& p) {
  detail::whole_exchange x(p.size.ranks, p.kind);
  for (int from = 0; from < p.size.ranks; ++from) {
    const auto row = p.what.row(p.size, from);
    for (int to = 0; to < p.size.ranks; ++to) x.bytes(from, to) = row[static_cast<std::size_t>(to)];
  }
  return x;
}

// What all ranks know alike, on nodes of that many ranks.
detail::shape shape_on(const detail::algorithm& a, const planned& p, const detail::topology& nodes) {
  detail::shape s = offline_shape(p.what, p.size, p.kind, buffering::separate);
  if (a.needs_nodes) describe(nodes, s);
  s.shared = nodes.nodes().groups() == 1;
  return s;
}

json json_of(const detail::whole_moves& moves, const std::vector<std::vector<blocks_of_message>>& carried) {
  json rounds = json::array();
  for (const auto& round : moves.rounds) {
    json messages = json::array();
    json copies = json::array();
    json scratch = json::array();
    for (const auto& m : round.messages) {
      messages.push_back({m.from, m.to, m.bytes});
      if (!carried.empty()) messages.back().push_back(carried[static_cast<std::size_t>(m.from)][m.index]);
    }
    for (const auto& c : round.copies) copies.push_back({c.rank, c.bytes, name_of(c.from), name_of(c.to)});
    for (const auto& k : round.scratch) scratch.push_back({k.rank, k.bytes});
    rounds.push_back({{"messages", messages}, {"copies", copies}, {"scratch", scratch}});
  }
  return rounds;
}

}  // namespace

json plan_of_moves(const detail::algorithm& a, const planned& p) {
  int per_node = p.per_node;
  auto nodes = topology_of(p.size.ranks, per_node);
  auto shape = shape_on(a, p, nodes);
  if (per_node == 0 && !a.supports(shape)) {  // what serves one node only is drawn on one node
    const auto one = topology_of(p.size.ranks, p.size.ranks);
    if (const auto on_one = shape_on(a, p, one); a.supports(on_one)) {
      per_node = p.size.ranks;
      nodes = one;
      shape = on_one;
    }
  }
  if (!a.supports(shape)) throw usage(fmt::format("algorithm '{}' does not serve this exchange", a.name));
  detail::whole_exchange x = whole_of(p);
  x.nodes = &nodes;
  std::vector<int> members(static_cast<std::size_t>(p.size.ranks));
  std::iota(members.begin(), members.end(), 0);
  detail::whole_moves moves;
  try {
    add_moves(a, x, shape, p.opts, {moves, members});
  } catch (const detail::too_many_messages& e) {
    throw usage(fmt::format("{}: fewer ranks are needed for --json", e.what()));
  }
  const bool named = a.build != nullptr && p.size.ranks <= most_with_blocks && shape.uniform &&
                     shape.max_block_bytes > 0 && p.kind != exchange::form::alltoallw && !a.needs_nodes;
  json j{{"taquin_plan", 1},
         {"algorithm", a.name},
         {"ranks", p.size.ranks},
         {"workload", p.workload},
         {"bytes_per_rank", p.size.bytes},
         {"per_node", per_node},
         {"memory", a.memory(shape, p.opts)},
         {"scratch_bytes", moves.scratch_bytes},
         {"rounds", json_of(moves, named ? payloads(a, p) : std::vector<std::vector<blocks_of_message>>{})}};
  if (moves.through_memory) j["through_memory"] = true;
  if (!moves.note.empty()) j["note"] = moves.note;
  return j;
}

}  // namespace taquin::cli
