// The sliding puzzle of in_place and in_place_phases, from a run of all ranks in one process.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/plan_json.hpp"
#include "simulation/in_place_ranks.hpp"

namespace taquin::cli {

namespace {

using detail::peer_block;
using nlohmann::json;

constexpr std::size_t most_events = 100000;
constexpr count_t units_of_a_rank = 64;  // a byte for each would be as many events

// Consecutive blocks, without empty ones.
std::vector<peer_block> in_a_row(const std::vector<count_t>& counts) {
  std::vector<peer_block> blocks;
  count_t at = 0;
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    if (counts[peer] > 0) blocks.push_back({at, counts[peer], static_cast<int>(peer)});
    at += counts[peer];
  }
  return blocks;
}

count_t end_of(const std::vector<peer_block>& blocks) {
  return blocks.empty() ? 0 : blocks.back().at + blocks.back().length;
}

json json_of(const std::vector<peer_block>& blocks) {
  json list = json::array();
  for (const peer_block& b : blocks) list.push_back({b.at, b.length, b.peer});
  return list;
}

// The counts between all ranks, and the bytes of a unit: as many as keep a picture readable.
struct unit_counts {
  std::vector<std::vector<count_t>> counts;
  count_t unit = 1;
};
unit_counts counts_in_units(const planned& p, count_t most_units) {
  unit_counts made;
  count_t most = 1;
  for (int rank = 0; rank < p.size.ranks; ++rank) {
    made.counts.push_back(p.what.row(p.size, rank));
    count_t sum = 0;
    for (const count_t bytes : made.counts.back()) sum += bytes;
    most = std::max(most, sum);
  }
  made.unit = (most + most_units - 1) / most_units;
  for (auto& row : made.counts)
    for (count_t& bytes : row) bytes = (bytes + made.unit - 1) / made.unit;
  return made;
}

}  // namespace

json plan_in_place(const planned& p, count_t memory, bool phases) {
  if (constexpr int most_ranks = 64; p.size.ranks > most_ranks)
    throw usage(fmt::format("the moves of in_place are drawn for at most {} ranks", most_ranks));
  const auto n = detail::as_size(p.size.ranks);
  const count_t most_units = std::max<count_t>(units_of_a_rank, count_t{8} * p.size.ranks);
  const auto [counts, unit] = counts_in_units(p, most_units);
  std::vector<std::vector<peer_block>> out;
  std::vector<std::vector<peer_block>> in;
  for (std::size_t rank = 0; rank < n; ++rank) {
    std::vector<count_t> column;
    for (std::size_t peer = 0; peer < n; ++peer) column.push_back(counts[peer][rank]);
    out.push_back(in_a_row(counts[rank]));
    in.push_back(in_a_row(column));
  }
  const count_t aux = std::max<count_t>(memory / unit, 1);
  detail::in_place_limits limits{.runs = 16, .per_peer = 4, .requests = 32, .sends = 32, .staged = 64};
  limits.aux = aux;
  limits.chunk = most_units;
  limits.aux_chunk = std::max<count_t>(aux / 2, 1);
  // As in_place_phases takes its options' defaults: a 16th of the most peers as parts of the auxiliary memory.
  const auto parts = static_cast<int>(std::clamp<count_t>(p.size.ranks / 16, 1, aux));
  const detail::phase_limits phase{.aux = aux, .parts = parts, .heap = false, .most = most_units};
  std::vector<detail::in_place_rank> ranks;
  std::vector<detail::phase_rank> phase_ranks;
  json strips = json::array();
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (phases)
      phase_ranks.push_back({out[rank], in[rank], nullptr, phase});
    else
      ranks.push_back({out[rank], in[rank], nullptr, limits});
    strips.push_back({{"units", std::max(end_of(out[rank]), end_of(in[rank]))},
                      {"aux", aux},
                      {"out", json_of(out[rank])},
                      {"in", json_of(in[rank])}});
  }
  json events = json::array();
  const auto trace = [&](const detail::simulated_move& m) {
    if (events.size() >= most_events) return;
    constexpr const char* names[] = {"arrived", "left", "moved"};
    const auto rank = detail::as_size(m.rank);
    const auto place = [border = detail::border_of(out[rank], in[rank])](count_t at) {
      return at < border ? at : border - 1 - at;  // auxiliary memory counts from -1 downwards
    };
    events.push_back({names[detail::as_size(m.kind)], m.round, m.rank, place(m.to), m.length, m.peer, place(m.from)});
  };
  const auto done = phases ? run_phases(phase_ranks, element::bytes(1), detail::phase_requests::sparse,
                                        detail::simulated_order::rounds, 0, trace)
                           : run_in_place(ranks, element::bytes(1), detail::simulated_order::rounds, 0,
                                          detail::simulated_port_kind::messages, trace);
  std::uint64_t rounds = 0;
  for (const auto& c : done) rounds = std::max(rounds, c.rounds);
  json plan{{"taquin_plan", 1},
            {"algorithm", phases ? "in_place_phases" : "in_place"},
            {"ranks", p.size.ranks},
            {"workload", p.workload},
            {"bytes_per_rank", p.size.bytes},
            {"strip", {{"unit_bytes", unit}, {"rounds", rounds}, {"ranks", strips}, {"events", events}}}};
  write_nodes(plan, p.nodes.value_or(detail::topology::of_single_ranks(p.size.ranks)));
  return plan;
}

}  // namespace taquin::cli
