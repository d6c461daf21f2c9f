#include "cli/sparse_offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/sparse/algorithm.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/plan_json.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/sizes.hpp"
#include "simulation/print.hpp"

namespace taquin::cli {

namespace {

constexpr int most_ranks = 4096;

const detail::sparse_algorithm& algorithm_of(const std::string& name) {
  if (name == "auto") throw usage("auto is a choice that calls make as they go: name an algorithm");
  const detail::sparse_algorithm* const a = detail::find_sparse(name);
  if (a == nullptr)
    throw usage(fmt::format("unknown sparse algorithm '{}'; known are {}", name, detail::sparse_names()));
  return *a;
}

detail::sparse_pattern pattern_of(const sparse_offline& a, int ranks) {
  if (ranks > most_ranks)
    throw usage(fmt::format("sparse exchanges are drawn for at most {} ranks, not {}", most_ranks, ranks));
  auto x = offline_pattern(parse_workload(a.workload), ranks, parse_size(a.bytes), a.per_pair, a.seed);
  x.per_node = a.per_node;
  x.in_flight = a.in_flight;
  return x;
}

count_t most_sent(const detail::sparse_pattern& x) {
  count_t most = 0;
  for (const auto& mine : x.blocks) {
    count_t bytes = 0;
    for (const auto& b : mine) bytes += b.bytes;
    most = std::max(most, bytes);
  }
  return most;
}

std::optional<std::string> draw(const detail::sparse_algorithm& a, const detail::sparse_pattern& x,
                                detail::sparse_moves& to) {
  try {
    return detail::add_sparse_moves(a, x, to);
  } catch (const detail::too_many_messages& e) {
    throw usage(fmt::format("{}: fewer ranks are needed", e.what()));
  }
}

std::string text_of(const detail::sparse_moves& m, int rank) {
  std::string text;
  int number = 0;
  for (const auto& round : m.all.rounds) {
    std::string lines;
    const char* const sends = m.all.through_memory ? "leaves in memory" : "sends";
    const char* const gets = m.all.through_memory ? "reads" : "receives";
    for (const auto& one : round.messages) {
      if (one.from != rank && one.to != rank) continue;
      lines += one.from == rank ? fmt::format("  {} {} bytes for rank {}", sends, one.bytes, one.to)
                                : fmt::format("  {} {} bytes of rank {}", gets, one.bytes, one.from);
      for (std::size_t i = 0; i < one.blocks.size(); ++i)
        lines += fmt::format("{}{}>{}", i == 0 ? ", of blocks " : " ", one.blocks[i].first, one.blocks[i].second);
      lines += "\n";
    }
    for (const auto& c : round.copies)
      if (c.rank == rank)
        lines +=
            fmt::format("  copies {} bytes from {} to {}\n", c.bytes, detail::name_of(c.from), detail::name_of(c.to));
    const bool met = m.meets[detail::as_size(number)];
    if (!lines.empty())
      text += fmt::format("round {} ({}{})\n{}", number, m.stages[detail::as_size(number)],
                          met ? ", when the ranks of the node have met" : "", lines);
    ++number;
  }
  return text;
}

}  // namespace

int plan_sparse(const sparse_offline& a, int ranks, int rank, const std::string& json,
                void (*write)(const std::string& path, const std::string& text)) {
  if (rank >= ranks) throw usage(fmt::format("rank {} does not exist among {} ranks", rank, ranks));
  const detail::sparse_algorithm& which = algorithm_of(a.algorithm);
  sparse_offline given = a;
  if (a.per_node == 0) given.per_node = &which == &detail::node_step_way ? ranks : 1;
  const auto x = pattern_of(given, ranks);
  detail::sparse_moves m;
  if (const auto why = draw(which, x, m))
    throw usage(fmt::format("algorithm '{}' does not serve this exchange: {}", which.name, *why));
  m.drop_empty_rounds();
  if (json.empty()) {
    fmt::print("{}, rank {} of {}, {} of {} {}\n{}", which.name, rank, ranks, a.workload,
               show_size(parse_size(a.bytes)), a.per_pair ? "for each destination" : "per rank", text_of(m, rank));
    return 0;
  }
  nlohmann::json j{{"taquin_plan", 1},
                   {"algorithm", which.name},
                   {"ranks", ranks},
                   {"workload", a.workload},
                   {"collective", "sparse"},
                   {"bytes_per_rank", most_sent(x)},
                   {"per_node", given.per_node},
                   {"rounds", json_of(m.all, true)},
                   {"stages", m.stages},
                   {"meets", m.meets},
                   {"note", "Records of agreements, notices and requests are messages as data are."}};
  if (m.all.through_memory) j["through_memory"] = true;
  write(json, j.dump() + "\n");
  return 0;
}

}  // namespace taquin::cli
