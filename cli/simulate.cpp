// taquin simulate: the cost of exchanges under a machine model, for any number of ranks. Runs without MPI ranks.
#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/layout_flags.hpp"
#include "cli/misspelt.hpp"
#include "cli/node_flags.hpp"
#include "cli/option_flags.hpp"
#include "cli/pattern_offline.hpp"
#include "cli/redistribution_offline.hpp"
#include "cli/sparse_offline.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/plot.hpp"
#include "harness/records.hpp"
#include "harness/sizes.hpp"
#include "select/profile.hpp"
#include "select/selection.hpp"
#include "simulation/evaluate.hpp"
#include "simulation/layout_time.hpp"

namespace taquin::cli {

namespace {

struct simulate_arguments {
  std::string ranks;
  std::vector<std::string> algorithms{"all"};
  std::string workload = "uniform";
  std::string bytes = "64K";
  bool per_pair = false;
  std::string collective = "alltoallv";
  std::string model;
  std::string kind;
  node_flags nodes;
  detail::owned_options opts;
  bool closed = false;
  std::string drawing;
  std::string json;
  std::uint64_t seed = 1;
  redistribution_flags of_blocks;
  layout_flags of_layouts;
};

constexpr count_t most_simulated_ranks = 1 << 20;
constexpr int most_pattern_ranks = 1 << 14;  // whose schedules are evaluated one by one
// Of all ranks' schedules, to be evaluated one by one.
constexpr std::size_t most_simulated_messages = std::size_t{1} << 22;
constexpr std::size_t most_regions = std::size_t{1} << 23;

detail::profile profile_of(const simulate_arguments& a) {
  detail::profile p = profile_of_model(a.model);
  p.points.clear();  // measured with ranks, which there are none of
  p.model.ranks_per_core = 1;
  if (a.kind.empty()) return p;
  const auto* known = std::ranges::find(all_models, a.kind, [](model_kind k) { return name_of(k); });
  if (known == all_models.end())
    throw usage(fmt::format("unknown model '{}'; known are hockney, logp, loggp, plogp", a.kind));
  p.model.kind = *known;
  return p;
}

/// One algorithm on one number of ranks.
struct prediction {
  std::string_view name;
  int ranks = 0;
  count_t bytes = 0;  // of a rank
  std::string nodes;
  std::optional<seconds> formula;
  std::optional<seconds> evaluated;
};

class simulation {
 public:
  simulation(const simulate_arguments& a, const workloads::workload& w, exchange::form kind, const machine_model& m)
      : a_(a), w_(w), kind_(kind), model_(m) {}

  /// Nothing when it does not serve.
  std::optional<prediction> predict(const detail::algorithm& what, int ranks) const {
    const count_t bytes = parse_size(a_.bytes);
    const workloads::problem_size size{ranks, a_.per_pair ? bytes * ranks : bytes, a_.seed};
    detail::shape s = offline_shape(w_, size, kind_, buffering::separate);
    const std::vector one{ranks};
    const auto nodes = a_.nodes.of(ranks).value_or(detail::topology::of_sizes(one));
    describe(nodes, s);
    s.shared = s.single_copies = s.nodes == 1;
    if (!what.supports(s)) return std::nullopt;
    machine_model m = model_;
    if (a_.nodes.cores > 0) detail::share_cores(m, s.largest_node, a_.nodes.cores);
    const options o = a_.opts.view();
    return prediction{what.name,          ranks,
                      size.bytes,         words_of(nodes, a_.nodes.cores),
                      what.cost(s, o, m), evaluate(what, s, size, nodes, m)};
  }

 private:
  // Message by message, where the moves are known in advance and are not too many.
  std::optional<seconds> evaluate(const detail::algorithm& what, const detail::shape& s,
                                  const workloads::problem_size& size, const detail::topology& nodes,
                                  const machine_model& m) const {
    if (a_.closed || what.build == nullptr) return std::nullopt;
    std::list<detail::schedule> all;
    std::vector<const detail::schedule*> pointers;
    const auto ranks = detail::as_size(size.ranks);
    for (int rank = 0; rank < size.ranks; ++rank) {
      const offline_rank mine(w_, size, kind_, rank);
      detail::local_exchange local = mine.local();
      local.nodes = &nodes;
      all.push_back(what.build(local, s, a_.opts.view(), std::pmr::new_delete_resource()));
      const auto& first = all.front();
      if (first.messages.size() * ranks > most_simulated_messages || first.regions.size() * ranks > most_regions)
        return std::nullopt;
      pointers.push_back(&all.back());
    }
    return detail::evaluate_slowest(pointers, m, nodes.nodes().group);
  }

  const simulate_arguments& a_;
  const workloads::workload& w_;
  exchange::form kind_;
  const machine_model& model_;
};

void print_json(const std::vector<prediction>& all, const simulate_arguments& a) {
  auto records = nlohmann::json::array();
  for (const auto& p : all)
    records.push_back({{"algorithm", p.name},
                       {"workload", a.workload},
                       {"collective", a.collective},
                       {"ranks", p.ranks},
                       {"bytes_per_rank", p.bytes},
                       {"nodes", p.nodes},
                       {"formula_s", p.formula ? nlohmann::json(*p.formula) : nlohmann::json()},
                       {"schedule_s", p.evaluated ? nlohmann::json(*p.evaluated) : nlohmann::json()}});
  write_text(a.json, records.dump(2) + "\n");
}

void print_table(const std::vector<prediction>& all) {
  std::string nodes;
  for (const auto& p : all) {
    const std::string mine = fmt::format("{} ranks on {}", p.ranks, p.nodes);
    if (nodes.find(mine) == std::string::npos) nodes += (nodes.empty() ? "" : "; ") + mine;
  }
  fmt::print("{}\n{:>8}  {:<20} {:>12} {:>12}\n", nodes, "ranks", "algorithm", "schedule", "formula");
  for (const auto& p : all)
    fmt::print("{:>8}  {:<20} {:>12} {:>12}\n", p.ranks, p.name, p.evaluated ? show_seconds(*p.evaluated) : "-",
               p.formula ? show_seconds(*p.formula) : "-");
}

void draw(const std::vector<prediction>& all, const simulate_arguments& a) {
  drawing d{fmt::format("{}, {} per {}", a.workload, a.bytes, a.per_pair ? "pair" : "rank"), "ranks", "time", {}};
  for (const auto& p : all) {
    if (!p.evaluated && !p.formula) continue;
    const std::string name(p.name);
    auto c = std::ranges::find(d.curves, name, &curve::title);
    if (c == d.curves.end()) c = d.curves.insert(c, {name, {}, false});
    c->points.emplace_back(p.ranks, p.evaluated ? *p.evaluated : *p.formula);
  }
  plot(a.drawing, d);
}

std::vector<count_t> ranks_of(const simulate_arguments& a) {
  if (a.ranks.empty()) {
    if (!a.nodes.listed()) throw usage("for how many ranks? Give -n or --nodes");
    return {a.nodes.ranks()};
  }
  auto counts = parse_sizes(a.ranks);
  for (const count_t n : counts)
    if (n < 1 || n > most_simulated_ranks)
      throw usage(fmt::format("{} ranks are not within 1 and {}", n, most_simulated_ranks));
  for (const count_t n : counts) static_cast<void>(a.nodes.of(static_cast<int>(n)));
  return counts;
}

int show(const std::vector<prediction>& all, const simulate_arguments& a) {
  if (!a.json.empty()) {
    print_json(all, a);
  } else {
    print_table(all);
  }
  if (!a.drawing.empty()) draw(all, a);
  return 0;
}

int execute_simulate_sparse(const simulate_arguments& a) {
  if (a.closed) throw usage("a sparse exchange has no closed formula: leave --formula out");
  const auto counts = ranks_of(a);
  const auto profile = profile_of(a);
  if (!a.drawing.empty()) check_plotter();
  std::vector<prediction> all;
  for (const auto& p : predict_sparse({.algorithms = a.algorithms,
                       .workload = a.workload,
                       .bytes = a.bytes,
                       .per_pair = a.per_pair,
                       .per_node = a.nodes.identical(static_cast<int>(counts.front())),
                       .in_flight = detail::as_size(detail::in_flight_of(a.opts.view())),
                       .seed = a.seed},
                                      counts, profile.model, a.nodes.cores))
    all.push_back(
        {p.algorithm, p.ranks, p.bytes_per_rank,
         words_of(a.nodes.of(p.ranks).value_or(detail::topology::of_sizes(std::vector{p.ranks})), a.nodes.cores),
         std::nullopt, p.time});
  return show(all, a);
}

int execute_simulate_redistribution(const simulate_arguments& a) {
  const auto counts = ranks_of(a);
  const auto profile = profile_of(a);
  const count_t bytes = parse_size(a.bytes);
  if (!a.drawing.empty()) check_plotter();
  std::vector<prediction> all;
  for (const count_t n : counts) {
    const int ranks = static_cast<int>(n);
    const auto nodes = a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks}));
    machine_model m = profile.model;
    if (a.nodes.cores > 0) detail::share_cores(m, nodes.nodes().largest(), a.nodes.cores);
    for (const auto& p : predict_redistribution({.algorithms = a.algorithms,
                         .workload = a.workload == "uniform" ? "shift" : a.workload,
                         .bytes = bytes,
                         .blocks = a.of_blocks.blocks,
                         .free = a.of_blocks.free,
                         .seed = a.seed},
                                                ranks, nodes, m))
      all.push_back(
          {p.algorithm, ranks, bytes, words_of(nodes, a.nodes.cores), p.formula, a.closed ? std::nullopt : p.run});
  }
  return show(all, a);
}

int execute_simulate_layouts(const simulate_arguments& a) {
  const auto counts = ranks_of(a);
  const auto profile = profile_of(a);
  const layout_move move(a.of_layouts);
  if (!a.drawing.empty()) check_plotter();
  std::vector<prediction> all;
  for (const count_t n : counts) {
    const int ranks = static_cast<int>(n);
    move.check(ranks);
    const auto nodes = a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks}));
    machine_model m = profile.model;
    if (a.nodes.cores > 0) detail::share_cores(m, nodes.nodes().largest(), a.nodes.cores);
    const auto t = detail::time_of(move.from, move.to, move.options, move.element, nodes, m,
                                   a.closed ? 0 : static_cast<count_t>(most_simulated_messages));
    all.push_back({"layouts", ranks, t.bytes, words_of(nodes, a.nodes.cores), t.formula, t.run});
  }
  simulate_arguments shown = a;
  shown.workload = "layouts";
  shown.collective = "redistribute";
  return show(all, shown);
}

// The closed forms are Hockney's, of equal ranks.
int execute_simulate_patterns(const simulate_arguments& a) {
  const auto requested = parse_patterns(a.algorithms);
  const auto counts = ranks_of(a);
  const count_t bytes = parse_size(a.bytes);
  const auto profile = profile_of(a);
  if (!a.drawing.empty()) check_plotter();
  std::vector<prediction> all;
  for (const count_t n : counts)
    for (const pattern& one : requested) {
      const int ranks = static_cast<int>(n);
      const auto nodes = a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks}));
      machine_model m = profile.model;
      if (a.nodes.cores > 0) detail::share_cores(m, nodes.nodes().largest(), a.nodes.cores);
      const bool closed = m.kind == model_kind::hockney && nodes.nodes().groups() == 1;
      prediction p{one.name, ranks, bytes, words_of(nodes, a.nodes.cores), std::nullopt, std::nullopt};
      if (closed) p.formula = one.closed_form(ranks, bytes, m.levels[0].hockney);
      if (!a.closed && ranks <= most_pattern_ranks) p.evaluated = time_of(one, ranks, bytes, nodes, m);
      all.push_back(p);
    }
  return show(all, a);
}

int execute_simulate(const simulate_arguments& a) {
  if (a.of_layouts.given()) return execute_simulate_layouts(a);
  if (a.collective == "pattern") return execute_simulate_patterns(a);
  if (a.collective == "sparse") return execute_simulate_sparse(a);
  if (asks_for_redistribution(a.algorithms, a.collective)) return execute_simulate_redistribution(a);
  check_algorithms(a.algorithms, true);
  const auto w = parse_workload(a.workload);
  const auto kind = parse_collective(a.collective);
  if (kind == exchange::form::alltoall && a.workload != "uniform")
    throw usage(
        fmt::format("alltoall sends the same to every rank: it needs the workload uniform, not {}", a.workload));
  const auto counts = ranks_of(a);
  static_cast<void>(parse_size(a.bytes));
  const auto profile = profile_of(a);
  if (!a.drawing.empty()) check_plotter();
  std::vector<const detail::algorithm*> requested;
  for (const auto* one : detail::algorithms())
    if (std::ranges::any_of(a.algorithms, [&](const std::string& n) { return n == "all" || n == one->name; }))
      requested.push_back(one);
  if (requested.empty()) throw usage("auto is a choice, not an algorithm: see 'taquin explain'");
  const simulation simulated(a, w, kind, profile.model);
  std::vector<prediction> all;
  for (const count_t n : counts)
    for (const auto* one : requested)
      if (auto p = simulated.predict(*one, static_cast<int>(n))) all.push_back(*p);
  if (all.empty()) throw usage("none of these algorithms serves this exchange");
  return show(all, a);
}

std::function<int()> set_up_simulate(CLI::App& app) {
  auto a = std::make_shared<simulate_arguments>();
  app.add_option("-n,--ranks", a->ranks, "ranks, at most 1M: 64; 2..4K doubles; default: those of --nodes")
      ->type_name("RANKS");
  auto* algorithm = app.add_option("-a,--algorithm", a->algorithms, "names from 'taquin list', or all")
                        ->capture_default_str()
                        ->delimiter(',')
                        ->type_name("NAME[,NAME...]");
  auto* workload = app.add_option("-w,--workload", a->workload, "traffic pattern, see below")->capture_default_str();
  auto* bytes = app.add_option("-b,--bytes", a->bytes, "bytes that a rank sends: 64, 4K, 50M")->capture_default_str();
  app.add_flag("--per-pair", a->per_pair, "-b is per pair of ranks");
  auto* collective =
      app.add_option("--collective", a->collective, "alltoall, alltoallv, alltoallw, sparse, redistribution or pattern")
          ->capture_default_str();
  app.add_option("--model", a->model, "a profile that 'taquin calibrate' wrote; default: the built-in one")
      ->type_name("PROFILE");
  app.add_option("--by", a->kind, "hockney, logp, loggp or plogp; default: the profile's choice");
  add_node_flags(app, a->nodes, "one node for all", "one for each rank");
  add_option_flags(app, a->opts, {"radix", "in_flight", "ports"});
  app.add_flag("--formula", a->closed, "closed formulas only");
  app.add_option("--plot", a->drawing, "draw time against ranks (needs gnuplot)")->type_name("FILE.svg");
  add_json_option(app, a->json, "a JSON array");
  app.add_option("--seed", a->seed, "of random workloads")->capture_default_str();
  a->of_blocks.add_to(app);
  a->of_layouts.add_to(app)->excludes(algorithm)->excludes(workload)->excludes(bytes)->excludes(collective);
  app.footer(workload_help() + R"(
Of redistributions they are shift, transpose, one_empty, one_cycle and random ('taquin redistribute --help').

"schedule" adds up the messages of all ranks' schedules, where an algorithm has one and there are not too many.
"formula" is the algorithm's closed formula, by which auto chooses. Times are those of a plan's start and wait.
Both assume the same network. Within a node each rank has ports of its own. Between nodes the ranks of a node share one
link, which passes as many concurrent messages in each direction as the profile has ports (default: one).

Of redistributions ('taquin list --redistribution'), "schedule" is a run of all ranks with messages.
Of layouts (--from, --to) between two arrays, "formula" is that of the slowest of the first, the middle and the last
rank, at the cost of the peers of one rank. "schedule" adds up the chunks of all ranks, all in flight together.
Of sparse exchanges, for up to 4096 ranks, times are those of whole calls, beside three hand-written baselines.

)" + layout_help() +
             R"(
  --from 250x400 --to 400x250/64x64:f

Examples:
  taquin simulate -n 2..1M -a spread_out,zero_copy_bruck --per-pair -b 8 --formula --plot ranks.svg
  taquin simulate -n 512 --per-node 16 -b 64K --model machine.json
  taquin simulate --nodes 1,4,2,8 -a hierarchical_factor,spread_out --ports 1 --per-pair -b 64K
  taquin simulate -n 2..16 -a parking,cyclic -w transpose --blocks 64 --free 12 -b 1M
  taquin simulate -n 2..1K --collective pattern -a ring,allreduce -b 1K --by hockney
  taquin simulate -n 100000 --per-node 100 --shape 1000000x1000000 --from 250x400 --to 400x250/64x64:f
  taquin simulate -n 64..1K --per-node 16 --collective sparse -w sparse:4 --per-pair -b 1K)");
  return [a] {
    if (!asks_for_redistribution(a->algorithms, a->collective)) a->of_blocks.refuse();
    return execute_simulate(*a);
  };
}

}  // namespace

const command simulate_command{"simulate", "predict times for any number of ranks, without MPI", set_up_simulate};

}  // namespace taquin::cli
