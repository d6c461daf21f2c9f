#include "cli/sparse_offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/sparse/algorithm.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/plan_json.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/sizes.hpp"
#include "harness/sparse_methods.hpp"
#include "select/selection.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/print.hpp"

namespace taquin::cli {

namespace {

constexpr int most_sparse_ranks = 4096;
constexpr std::size_t most_sparse_messages = std::size_t{1} << 22U;  // to be evaluated one by one

// An algorithm of sparse.def, or a hand-written one.
struct named_method {
  std::string_view name;
  const detail::sparse_algorithm* algorithm = nullptr;
  const sparse_method* method = nullptr;
};

[[noreturn]] void refuse_choice() { throw usage("auto is a choice that calls make as they go: name an algorithm"); }

const detail::sparse_algorithm& algorithm_of(const std::string& name) {
  if (name == "auto") refuse_choice();
  const detail::sparse_algorithm* const a = detail::find_sparse(name);
  if (a == nullptr)
    throw usage(fmt::format("unknown sparse algorithm '{}'; known are {}", name, detail::sparse_names()));
  return *a;
}

// In the order in which `taquin run` measures them.
std::vector<named_method> requested(const std::vector<std::string>& names) {
  std::vector<named_method> all;
  std::string known = detail::sparse_names();
  for (const auto& w : sparse_methods()) {
    all.push_back({.name = w.name, .method = &w});
    known += fmt::format(", {}", w.name);
  }
  for (const auto* a : detail::sparse_algorithms()) all.push_back({.name = a->name, .algorithm = a});
  const auto is_requested = [&](const named_method& n) {
    return std::ranges::any_of(names, [&](const std::string& s) { return s == "all" || s == n.name; });
  };
  for (const std::string& name : names) {
    if (name == "auto") refuse_choice();
    if (name != "all" && std::ranges::find(all, name, &named_method::name) == all.end())
      throw usage(fmt::format("unknown sparse algorithm '{}'; known are all, {}", name, known));
  }
  std::erase_if(all, [&](const named_method& n) { return !is_requested(n); });
  return all;
}

detail::sparse_pattern pattern_of(const sparse_offline& a, int ranks) {
  if (ranks > most_sparse_ranks)
    throw usage(fmt::format("sparse exchanges are drawn for at most {} ranks, not {}", most_sparse_ranks, ranks));
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
    const bool met = m.synchronizes_at(detail::as_size(number));
    if (!lines.empty())
      text += fmt::format("round {} ({}{})\n{}", number, m.stages[detail::as_size(number)],
                          met ? ", after the ranks of the node have synchronized" : "", lines);
    ++number;
  }
  return text;
}

}  // namespace

int plan_sparse(const sparse_offline& a, int ranks, int rank, const std::string& json,
                void (*write)(const std::string& path, const std::string& text)) {
  if (rank >= ranks) throw usage(fmt::format("rank {} does not exist among {} ranks", rank, ranks));
  const detail::sparse_algorithm& which = algorithm_of(a.algorithms.front());
  sparse_offline given = a;
  if (a.per_node == 0) given.per_node = &which == &detail::node_step_algorithm ? ranks : 1;
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
                   {"meets", m.synchronizes},
                   {"note", "Headers of agreements, headers of blocks, and requests are messages as data are."}};
  if (m.all.through_memory) j["through_memory"] = true;
  write(json, j.dump() + "\n");
  return 0;
}

namespace {

// Nothing where it does not serve.
std::optional<sparse_prediction> predict(const named_method& which, const detail::sparse_pattern& x,
                                         const machine_model& model) {
  sparse_prediction p{which.name, x.ranks(), most_sent(x), std::nullopt};
  detail::sparse_moves m;
  m.all.most = most_sparse_messages;
  try {
    if (which.method != nullptr) {
      which.method->moves(x, m);
    } else if (detail::add_sparse_moves(*which.algorithm, x, m)) {
      return std::nullopt;
    }
  } catch (const detail::too_many_messages&) {
    return p;
  }
  m.drop_empty_rounds();
  const auto schedules = detail::schedules_of(m, x.ranks());
  std::vector<const detail::schedule*> pointers;
  pointers.reserve(schedules.size());
  for (const auto& s : schedules) pointers.push_back(&s);
  p.time = detail::evaluate_slowest(pointers, model, x.nodes_of_ranks());
  return p;
}

}  // namespace

std::vector<sparse_prediction> predict_sparse(const sparse_offline& a, const std::vector<count_t>& ranks,
                                              const machine_model& model, int cores) {
  const auto all = requested(a.algorithms);
  std::vector<sparse_prediction> predicted;
  for (const count_t n : ranks) {
    const int p = static_cast<int>(std::min<count_t>(n, most_sparse_ranks + 1));
    sparse_offline given = a;
    if (a.per_node == 0) given.per_node = p;
    const auto x = pattern_of(given, p);
    machine_model m = model;
    if (cores > 0) detail::share_cores(m, std::min(given.per_node, p), cores);
    for (const named_method& which : all)
      if (const auto one = predict(which, x, m)) predicted.push_back(*one);
  }
  if (predicted.empty()) throw usage("none of these algorithms serves this exchange");
  return predicted;
}

std::vector<sparse_candidate> explain_sparse(const sparse_offline& a, int ranks, std::size_t memory,
                                             const machine_model& model, int cores) {
  sparse_offline given = a;
  if (a.per_node == 0) given.per_node = ranks;
  const auto x = pattern_of(given, ranks);
  machine_model m = model;
  if (cores > 0) detail::share_cores(m, std::min(given.per_node, ranks), cores);
  std::vector<sparse_candidate> all;
  bool chosen = false;
  for (const auto* one : detail::sparse_algorithms()) {
    sparse_candidate c{.algorithm = one->name, .why = {}};
    detail::sparse_moves none;
    none.all.most = most_sparse_messages;
    try {
      if (const auto why = detail::add_sparse_moves(*one, x, none)) c.why = *why;
    } catch (const detail::too_many_messages&) {
    }
    c.serves = c.why.empty();
    if (c.serves) {
      if (const auto p = predict({.name = one->name, .algorithm = one}, x, m)) c.time = p->time;
    }
    if (c.serves && one->find != nullptr &&
        one->memory(ranks, x.in_flight, detail::sparse_algorithm::least_message) > memory) {
      c.serves = false;
      c.why = fmt::format("needs more than the {} that are allowed", show_size(static_cast<count_t>(memory)));
    }
    c.chosen = c.serves && !std::exchange(chosen, chosen || c.serves);
    if (c.chosen)
      c.why =
          "chosen: " + (one->needs.empty() ? std::string("it serves all") : fmt::format("it serves {}", one->needs));
    all.push_back(std::move(c));
  }
  for (const auto& w : sparse_methods()) {
    sparse_candidate c{.algorithm = w.name, .by_hand = true, .why = "hand-written"};
    if (const auto p = predict({.name = w.name, .method = &w}, x, m)) c.time = p->time;
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace taquin::cli
