// taquin plan: print one rank's schedule. Runs without MPI ranks.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/misspelt.hpp"
#include "cli/node_flags.hpp"
#include "cli/option_flags.hpp"
#include "cli/pattern_offline.hpp"
#include "cli/plan_json.hpp"
#include "cli/sparse_offline.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/sizes.hpp"
#include "harness/why_not.hpp"
#include "simulation/print.hpp"
#include "simulation/runner.hpp"

namespace taquin::cli {

namespace {

struct plan_arguments {
  int ranks = 0;
  int rank = 0;
  std::string algorithm;
  std::string workload = "uniform";
  std::string bytes = "64K";
  bool per_pair = false;
  std::string collective = "alltoallv";
  detail::owned_options opts;  // algorithm and memory aside
  std::uint64_t seed = 1;
  std::string json;
  std::string memory = "25%";
  node_flags nodes;
  std::string model;
  count_t blocks = 64;
  count_t free = 0;
};

options options_of(const plan_arguments& a) {
  options o = a.opts.view();
  o.algorithm = a.algorithm;
  return o;
}

void write_plan(const std::string& path, const std::string& text) {
  write_text(path, text);
  if (path != "-") fmt::print(stderr, "plan written to {}\n", path);
}

// The schedules of all ranks, for the report page.
nlohmann::json all_ranks(const plan_arguments& a) {
  const count_t bytes = parse_size(a.bytes);
  if (const auto* moved = detail::find_redistribution(a.algorithm); moved != nullptr && a.algorithm != "auto") {
    return plan_redistribution(*moved, a.workload == "uniform" ? "shift" : a.workload, a.ranks, a.blocks,
                               a.blocks - a.free, std::max<count_t>(bytes / a.blocks, 1), a.seed);
  }
  check_algorithms({a.algorithm}, false);
  const planned p{.workload = a.workload,
                  .what = parse_workload(a.workload),
                  .size = {a.ranks, a.per_pair ? bytes * a.ranks : bytes, a.seed},
                  .kind = parse_collective(a.collective),
                  .opts = options_of(a),
                  .nodes = a.nodes.of(a.ranks)};
  if (p.kind == exchange::form::alltoall && a.workload != "uniform")
    throw usage(
        fmt::format("alltoall sends the same to every rank: it needs the workload uniform, not {}", a.workload));
  const bool phases = a.algorithm == "in_place_phases";
  if (phases || a.algorithm == "in_place") {
    const auto memory = memory_choice::parse(a.memory).limit(p.size.bytes);
    return plan_in_place(p, static_cast<count_t>(std::min(memory, detail::as_size(p.size.bytes))), phases);
  }
  const detail::algorithm* chosen = detail::find_algorithm(a.algorithm);
  if (chosen == nullptr) throw usage("auto is a choice, not an algorithm: see 'taquin explain'");
  return plan_of_moves(*chosen, p);
}

// The contents of each message of the rank: all ranks' schedules are run with blocks that hold their two ranks.
std::vector<detail::payload> payloads_of(const detail::algorithm& algorithm, exchange::form kind, const options& o,
                                         const plan_arguments& a, const detail::topology& nodes) {
  using name = std::array<std::int32_t, 2>;
  const workloads::problem_size size{a.ranks, static_cast<count_t>(sizeof(name)) * a.ranks, a.seed};
  const auto w = parse_workload("uniform");
  auto shape = offline_shape(w, size, kind, buffering::separate);
  describe(nodes, shape);
  const auto p = detail::as_size(a.ranks);
  std::vector<std::vector<name>> sent(p, std::vector<name>(p));
  std::vector<std::vector<name>> received(p, std::vector<name>(p));
  std::vector<detail::schedule> schedules;
  schedules.reserve(p);
  std::vector<detail::simulated_rank> ranks;
  for (std::size_t i = 0; i < p; ++i) {
    const offline_rank one(w, size, kind, static_cast<int>(i));
    detail::local_exchange local = one.local();
    local.nodes = &nodes;
    schedules.push_back(algorithm.build(local, shape, o, std::pmr::new_delete_resource()));
    for (std::size_t j = 0; j < p; ++j) sent[i][j] = {static_cast<int>(i), static_cast<int>(j)};
    ranks.push_back({&schedules[i], std::as_writable_bytes(std::span(sent[i])).data(),
                     std::as_writable_bytes(std::span(received[i])).data()});
  }
  std::vector<detail::payload> payloads(schedules[detail::as_size(a.rank)].messages.size());
  run_simulated(ranks, detail::delivery::eager, {},
                [&](int rank, std::uint32_t index, std::span<const std::byte> data) {
                  if (rank != a.rank) return;
                  for (std::size_t at = 0; at + sizeof(name) <= data.size(); at += sizeof(name)) {
                    name block;
                    std::memcpy(block.data(), data.data() + at, sizeof block);
                    payloads[index].emplace_back(block[0], block[1]);
                  }
                });
  return payloads;
}

// If --nodes gives the number of ranks, -n need not.
plan_arguments with_ranks(plan_arguments a) {
  if (a.ranks == 0) a.ranks = a.nodes.ranks();
  if (a.ranks == 0) throw usage("for how many ranks? Give -n or --nodes");
  static_cast<void>(a.nodes.of(a.ranks));
  return a;
}

// The predicted time of the exchange, by the closed formula.
seconds predicted(const detail::algorithm& chosen, detail::shape s, const options& o, const plan_arguments& a) {
  machine_model m = profile_of_model(a.model).model;
  m.ranks_per_core = 1;
  if (a.nodes.cores > 0) detail::share_cores(m, s.largest_node, a.nodes.cores);
  s.shared = s.single_copies = s.nodes == 1;
  return chosen.cost(s, o, m);
}

int execute_plan(const plan_arguments& given) {
  const plan_arguments a = with_ranks(given);
  if ((a.nodes.cores > 0 || !a.model.empty()) && (a.collective == "sparse" || a.collective == "pattern"))
    throw usage("--cores and --model predict times of dense exchanges: of others 'taquin simulate' does");
  if (a.collective == "sparse")
    return plan_sparse({.algorithms = {a.algorithm},
                        .workload = a.workload,
                        .bytes = a.bytes,
                        .per_pair = a.per_pair,
                        .per_node = a.nodes.identical(a.ranks),
                        .in_flight = detail::as_size(detail::in_flight_of(a.opts.view())),
                        .seed = a.seed},
                       a.ranks, a.rank, a.json, write_plan);
  if (a.collective == "pattern") {
    if (!a.json.empty()) throw usage("--json has no patterns: leave it out");
    return plan_pattern(a.algorithm, a.ranks, a.rank, parse_size(a.bytes));
  }
  if (!a.json.empty()) {
    write_plan(a.json, all_ranks(a).dump() + "\n");
    return 0;
  }
  check_algorithms({a.algorithm}, false);
  const auto w = parse_workload(a.workload);
  const auto kind = parse_collective(a.collective);
  if (a.rank >= a.ranks) throw usage(fmt::format("rank {} does not exist among {} ranks", a.rank, a.ranks));
  if (kind == exchange::form::alltoall && a.workload != "uniform")
    throw usage(
        fmt::format("alltoall sends the same to every rank: it needs the workload uniform, not {}", a.workload));
  const detail::algorithm* chosen = detail::find_algorithm(a.algorithm);
  if (chosen == nullptr || chosen->build == nullptr)
    throw usage(fmt::format("algorithm '{}' has no schedule that one rank knows in advance; --json writes what all do",
                            a.algorithm));
  const count_t bytes = parse_size(a.bytes);
  const workloads::problem_size size{a.ranks, a.per_pair ? bytes * a.ranks : bytes, a.seed};
  const auto nodes = a.nodes.of(a.ranks).value_or(detail::topology::of_single_ranks(a.ranks));
  auto shape = offline_shape(w, size, kind, buffering::separate);
  describe(nodes, shape);
  if (!chosen->supports(shape))
    throw usage(fmt::format("algorithm '{}' does not serve this exchange: {}", a.algorithm, why_not(*chosen, shape)));

  const offline_rank mine(w, size, kind, a.rank);
  const options o = options_of(a);
  auto local = mine.local();
  local.nodes = &nodes;
  // With more ranks the output is unreadable.
  constexpr int most_shown = 256;
  std::vector<detail::payload> payloads;
  if (shape.uniform && shape.max_block_bytes > 0 && a.ranks <= most_shown && kind != exchange::form::alltoallw)
    payloads = payloads_of(*chosen, kind, o, a, nodes);
  const auto schedule = chosen->build(local, shape, o, std::pmr::new_delete_resource());
  fmt::print(
      "{}, rank {} of {}, {} of {} per rank, {}\n{} rounds, {} messages, {} copies, {} bytes of scratch memory, {} "
      "predicted\n{}",
      chosen->name, a.rank, a.ranks, a.workload, show_size(size.bytes), words_of(nodes, a.nodes.cores),
      schedule.rounds.size(), schedule.messages.size(), schedule.copies.size(), chosen->memory(shape, o),
      show_seconds(predicted(*chosen, shape, o, a)), detail::to_text(schedule, &local, payloads));
  return 0;
}

std::function<int()> set_up_plan(CLI::App& app) {
  auto a = std::make_shared<plan_arguments>();
  app.add_option("-n,--ranks", a->ranks, "number of ranks; default: those of --nodes")
      ->check(at_least_one())
      ->type_name("RANKS");
  app.add_option("-r,--rank", a->rank, "the rank whose schedule to print")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("-a,--algorithm", a->algorithm, "a name from 'taquin list'")->required()->type_name("NAME");
  app.add_option("-w,--workload", a->workload, "traffic pattern, see below")->capture_default_str();
  app.add_option("-b,--bytes", a->bytes, "bytes that a rank sends: 64, 4K, 50M")->capture_default_str();
  app.add_flag("--per-pair", a->per_pair, "-b is per pair of ranks");
  app.add_option("--collective", a->collective, "alltoall, alltoallv, alltoallw, sparse or pattern")
      ->capture_default_str();
  add_option_flags(app, a->opts, {"radix", "in_flight", "ports"});
  app.add_option("--seed", a->seed, "of random workloads")->capture_default_str();
  auto* for_all = add_json_option(app, a->json, "what all ranks do");
  add_node_flags(app, a->nodes, "each rank alone", "one for each rank");
  app.get_option("--cores")->excludes(for_all);
  app.add_option("--model", a->model, "a profile, by which the time is predicted; default: the built-in model")
      ->type_name("PROFILE")
      ->excludes(for_all);
  app.add_option("-m,--memory", a->memory,
                 "in_place, in_place_phases: scratch memory per rank: 64K, 25% of what a rank sends")
      ->capture_default_str()
      ->needs(for_all);
  app.add_option("--blocks", a->blocks, "a redistribution: blocks of a rank's array")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->needs(for_all);
  app.add_option("--free", a->free, "a redistribution: free ones among them")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->needs(for_all);
  app.footer(workload_help() + R"(
A region is written BUFFER[BEGIN, +BYTES), in bytes from the buffer's start; {BUFFER RANKS} are the ranks whose places
it takes. "carries 3>7" below a message is the block that rank 3 sends to rank 7, on its way through other ranks.

Examples:
  taquin plan -n 8 -r 3 -a zero_copy_bruck --radix 2 --collective alltoall --per-pair -b 4
  taquin plan -n 8 -r 3 -a pairwise -b 1K
  taquin plan --nodes 1,4,2,8 -r 3 -a hierarchical_factor --ports 1 --per-pair -b 1K
  taquin plan -n 1000 -a spread_out -w sparse:3 -b 1M
  taquin plan -n 8 -r 3 --collective pattern -a ring:2 -b 1K
  taquin plan -n 8 -a notify_tree --collective sparse -w sparse:2 --per-pair -b 1K
With --json any algorithm, and redistributions ('taquin list --redistribution'), for 'taquin report':
  taquin plan -n 8 -a zero_copy_bruck --json bruck.json
  taquin plan -n 4 -a in_place -w random -m 10% --json puzzle.json
  taquin plan -n 12 -a node_aggregated --per-node 4 --json nodes.json
  taquin plan -n 4 -a slots -w random --blocks 64 --json slots.json)");
  return [a] { return execute_plan(*a); };
}

}  // namespace

const command plan_command{"plan", "print the schedule of one rank, or write that of all", set_up_plan};

}  // namespace taquin::cli
