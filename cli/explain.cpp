// taquin explain: the algorithm that auto chooses, and the cost of each.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/command.hpp"
#include "cli/explain_layouts.hpp"
#include "cli/explain_traffic.hpp"
#include "cli/explanation.hpp"
#include "cli/json_option.hpp"
#include "cli/misspelt.hpp"
#include "cli/node_flags.hpp"
#include "cli/redistribution_offline.hpp"
#include "cli/sparse_offline.hpp"
#include "harness/cases.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/recording.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "harness/statistics.hpp"
#include "harness/why_not.hpp"
#include "mpi/communicator.hpp"
#include "node/blocking_channel.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"
#include "select/profile.hpp"

namespace taquin::cli {

namespace {

struct explain_arguments {
  int ranks = 0;
  std::string workload = "uniform";
  std::string bytes = "64K";
  bool per_pair = false;
  std::string memory = "unlimited";
  bool in_place = false;
  bool persistent = false;
  std::string collective = "alltoallv";
  node_flags nodes;
  std::string model;
  std::string traffic;
  bool measured = false;
  std::string json;
  std::uint64_t seed = 1;
  redistribution_flags of_blocks;
  layout_flags of_layouts;
};

placement place(const explain_arguments& a, int ranks, int world) {
  const bool here = ranks == world && a.nodes.nodes.empty() && a.nodes.per_node == 0;
  placement p = here ? placement::of_world()
                     : placement::of(a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks})));
  if (a.nodes.cores > 0) p.cores = a.nodes.cores;
  return p;
}

// The communicator's profile, as auto knows it; for other ranks, nodes or cores the file alone.
detail::profile profile_for(const explain_arguments& a, const placement& on) {
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  if (a.model.empty() && on.here && a.nodes.cores == 0) return detail::chooser::get_or_create(comm).known();
  detail::profile p = a.model.empty() ? detail::chooser::get_or_create(comm).known() : profile_of_model(a.model);
  detail::share_cores(p.model, on.nodes.nodes().largest(), on.cores);
  return p;
}

std::map<std::string, double> measure_all(const explain_arguments& a, const workloads::workload& w, exchange::form kind,
                                          buffering how, count_t bytes, std::size_t limit) {
  const test_case test(w, kind, how, bytes, a.seed);
  arenas memory(std::pmr::new_delete_resource(), test.calls());
  auto names = test.served_by();
  if (how == buffering::separate) names.insert(names.begin(), "native");
  std::vector<contender> contenders(names.size() + 1);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    contenders[i + 1].requested = names[i];
    contenders[i + 1].opts.memory = limit;
  }
  constexpr int repetitions = 15;
  measure(test.calls(), memory, contenders, {.repetitions = repetitions, .persistent = a.persistent}, [](auto&&...) {});
  std::map<std::string, double> medians;
  for (const auto& c : contenders)
    if (!c.raw && !c.fault) medians[c.requested] = median(c.seconds);
  return medians;
}

nlohmann::json or_null(const std::optional<double>& v) { return v ? nlohmann::json(*v) : nlohmann::json(); }

void print(const nlohmann::json& rows, const std::string& title) {
  // "in profile": measured when the profile was made; "measured": now. An empty column is left out.
  struct column {
    const char* title;
    const char* key;
  };
  std::vector<column> times{{"predicted", "predicted_s"}};
  for (const column c : {column{"in profile", "profile_s"}, column{"measured", "measured_s"}})
    if (std::ranges::any_of(rows, [&](const auto& r) { return !r[c.key].is_null(); })) times.push_back(c);
  std::string head;
  for (const column& c : times) head += fmt::format(" {:>12}", c.title);
  fmt::print("{}\n{:<20} {:>10}{}\n", title, "algorithm", "memory", head);
  for (const auto& r : rows) {
    std::string shown;
    for (const column& c : times) shown += fmt::format(" {:>12}", r[c.key].is_null() ? "-" : show_seconds(r[c.key]));
    fmt::print("{:<20} {:>10}{}  {}\n", r["algorithm"].get<std::string>(),
               r["memory"].is_null() ? "-" : show_size(r["memory"]), shown,
               r["chosen"].get<bool>() ? "<- " + r["why"].get<std::string>() : r["why"].get<std::string>());
  }
}

// Why a candidate is chosen, or cannot be; empty where another one is expected to be faster.
std::string reason(const detail::candidate& c, const explanation& e, bool points) {
  if (!c.supported) return why_not(*c.what, e.shape);
  const bool step = c.what == e.taken.what && e.taken.why == detail::decision::reason::step;
  if (step && !e.profile_given) return "chosen: a blocking call does it in one step";
  if (c.memory > e.left && !step)
    return fmt::format("needs more than the {} that are allowed", show_size(static_cast<count_t>(e.limit)));
  if (c.what == e.taken.rival) return "the first calls are timed with it in turn; the faster one stays";
  if (c.what == e.taken.what) {
    if (e.by_rule) return "chosen: a rule of the profile";
    return c.measured ? "chosen: least time of the profile" : "chosen: least predicted time";
  }
  return points && !c.measured ? "not measured in the profile, which has others" : "";
}

int ranks_of(const explain_arguments& a, int world) {
  if (a.ranks > 0) return a.ranks;
  return a.nodes.nodes.empty() ? world : a.nodes.ranks();
}

int execute_explain(const explain_arguments& a, int rank, int world) {
  const int ranks = ranks_of(a, world);
  if (a.measured && ranks != world)
    throw usage(fmt::format("--measure runs {0} ranks: start them (mpirun -n {0} taquin explain ...)", ranks));
  const auto w = parse_workload(a.workload);
  const auto kind = parse_collective(a.collective);
  const auto how = a.in_place ? buffering::one_buffer : buffering::separate;
  const count_t given = parse_size(a.bytes);
  const count_t bytes = a.per_pair ? given * ranks : given;
  const placement on = place(a, ranks, world);
  if (a.measured && !on.here) throw usage("--measure measures on the nodes that the ranks run on: leave out --nodes");
  const auto profile = profile_for(a, on);
  const explanation e = explain({w, {ranks, bytes, a.seed}, kind, how, a.persistent}, a.memory, on, profile);
  std::map<std::string, double> times;
  if (a.measured) times = measure_all(a, w, kind, how, bytes, e.limit);
  if (rank != 0) return 0;

  auto rows = nlohmann::json::array();
  const bool points = std::ranges::any_of(e.all, [&](const auto& c) { return c.measured && c.memory <= e.left; });
  for (const auto& c : e.all) {
    const std::string name(c.what->name);
    const bool fits = c.memory <= e.left || c.what == e.chosen();
    rows.push_back({{"algorithm", name},
                    {"supported", c.supported},
                    {"fits", c.supported && fits},
                    {"memory", c.supported ? nlohmann::json(c.memory) : nlohmann::json()},
                    {"predicted_s", or_null(c.supported ? std::optional(c.predicted) : std::nullopt)},
                    {"profile_s", or_null(c.measured ? std::optional(c.time) : std::nullopt)},
                    {"measured_s", or_null(times.contains(name) ? std::optional(times[name]) : std::nullopt)},
                    {"chosen", c.what == e.chosen()},
                    {"why", reason(c, e, points)}});
  }
  if (!a.json.empty()) {
    write_text(a.json, rows.dump(2) + "\n");
    return 0;
  }
  print(rows, fmt::format("{}, {} ranks on {}, {} per rank{}, {}", a.workload, ranks, on.words(),
                          show_size(static_cast<count_t>(e.shape.max_rank_bytes)), a.in_place ? ", one buffer" : "",
                          a.persistent ? "persistent" : "blocking"));
  if (e.chosen() == nullptr) fmt::print("\nnothing serves within {} bytes\n", e.limit);
  return 0;
}

int execute_explain_sparse(const explain_arguments& a, int rank, int world) {
  const int ranks = ranks_of(a, world);
  placement on = placement::of(a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks})));
  if (a.nodes.cores > 0) on.cores = a.nodes.cores;
  const auto limit = memory_choice::parse(a.memory).limit(parse_size(a.bytes) * (a.per_pair ? ranks : 1));
  detail::profile profile = profile_of_model(a.model);
  profile.model.ranks_per_core = 1;
  const auto all = explain_sparse({.algorithms = {},
                                   .workload = a.workload,
                                   .bytes = a.bytes,
                                   .per_pair = a.per_pair,
                                   .per_node = a.nodes.identical(ranks),
                                   .seed = a.seed},
                                  ranks, limit, profile.model, on.cores);
  if (rank != 0) return 0;
  auto rows = nlohmann::json::array();
  for (const auto& c : all)
    rows.push_back({{"algorithm", c.algorithm},
                    {"by_hand", c.by_hand},
                    {"supported", c.serves},
                    {"memory", nlohmann::json()},
                    {"predicted_s", or_null(c.time)},
                    {"profile_s", nlohmann::json()},
                    {"measured_s", nlohmann::json()},
                    {"chosen", c.chosen},
                    {"why", c.why}});
  if (!a.json.empty())
    write_text(a.json, rows.dump(2) + "\n");
  else
    print(rows, fmt::format("{}, {} ranks on {}, {} {}, sparse", a.workload, ranks, on.words(),
                            show_size(parse_size(a.bytes)), a.per_pair ? "for each destination" : "per rank"));
  return 0;
}

std::string reason(const redistribution_candidate& c, std::size_t limit) {
  if (!c.fits) return fmt::format("needs more than the {} that are allowed", show_size(static_cast<count_t>(limit)));
  return c.chosen ? "what auto takes" : "";
}

int execute_explain_redistribution(const explain_arguments& a, int rank, int world) {
  const int ranks = ranks_of(a, world);
  placement on = placement::of(a.nodes.of(ranks).value_or(detail::topology::of_sizes(std::vector{ranks})));
  if (a.nodes.cores > 0) on.cores = a.nodes.cores;
  detail::profile profile = profile_of_model(a.model);
  profile.model.ranks_per_core = 1;
  detail::share_cores(profile.model, on.nodes.nodes().largest(), on.cores);
  const redistribution_offline given{.workload = a.workload == "uniform" ? "shift" : a.workload,
                                     .bytes = parse_size(a.bytes),
                                     .blocks = a.of_blocks.blocks,
                                     .free = a.of_blocks.free,
                                     .memory = memory_choice::parse(a.memory).limit(parse_size(a.bytes)),
                                     .seed = a.seed};
  const auto all = predict_redistribution(given, ranks, on.nodes, profile.model);
  if (rank != 0) return 0;
  auto rows = nlohmann::json::array();
  for (const auto& c : all)
    rows.push_back({{"algorithm", c.algorithm},
                    {"supported", true},
                    {"fits", c.fits},
                    {"memory", c.memory},
                    {"predicted_s", or_null(c.fits ? std::optional(c.run.value_or(c.formula)) : std::nullopt)},
                    {"profile_s", nlohmann::json()},
                    {"measured_s", nlohmann::json()},
                    {"chosen", c.chosen},
                    {"why", reason(c, given.memory)}});
  if (!a.json.empty())
    write_text(a.json, rows.dump(2) + "\n");
  else
    print(rows, fmt::format("{}, {} ranks on {}, {} in {} blocks per rank, redistribution", given.workload, ranks,
                            on.words(), show_size(given.bytes), given.blocks));
  return 0;
}

int start_redistribution(const explain_arguments& a) {
  if (a.measured) throw usage("--measure has no redistributions: 'taquin redistribute' measures them");
  if (a.in_place || a.persistent || a.per_pair || !a.traffic.empty())
    throw usage("--in-place, --persistent, --per-pair and --traffic have no meaning with a redistribution");
  static_cast<void>(parse_size(a.bytes));
  static_cast<void>(memory_choice::parse(a.memory));
  return in_session([&](int rank, int world) { return execute_explain_redistribution(a, rank, world); });
}

int start_layouts(const explain_arguments& a) {
  if (a.measured) throw usage("--measure has no layouts: 'taquin redistribute' measures them");
  if (a.in_place || a.persistent || a.per_pair)
    throw usage("--in-place, --persistent and --per-pair have no meaning with layouts");
  static_cast<void>(layout_move(a.of_layouts));
  return in_session([&](int rank, int world) {
    if (rank == 0) explain_layouts(a.of_layouts, ranks_of(a, world), a.json);
    return 0;
  });
}

// Arguments that are invalid on their own are refused before MPI starts.
int start(const explain_arguments& a) {
  if (constexpr int most_ranks = 100000; a.ranks > most_ranks)
    throw usage(fmt::format("{} ranks: more than {} are explained of layouts alone", a.ranks, most_ranks));
  if (a.collective == "redistribution") return start_redistribution(a);
  static_cast<void>(parse_workload(a.workload));
  if (a.collective == "sparse") {
    if (a.measured) throw usage("--measure has no sparse exchanges: 'taquin run --collective sparse' measures them");
    if (a.in_place || a.persistent || !a.traffic.empty())
      throw usage("--in-place, --persistent and --traffic have no meaning with a sparse exchange");
    static_cast<void>(parse_size(a.bytes));
    static_cast<void>(memory_choice::parse(a.memory));
    return in_session([&](int rank, int world) { return execute_explain_sparse(a, rank, world); });
  }
  if (!a.traffic.empty() && (!a.nodes.nodes.empty() || a.nodes.per_node > 0))
    throw usage("--nodes and --per-node have no meaning with --traffic: a recording does not know its nodes");
  const auto kind = parse_collective(a.collective);
  static_cast<void>(parse_size(a.bytes));
  static_cast<void>(memory_choice::parse(a.memory));
  static_cast<void>(profile_of_model(a.model));
  if (kind == exchange::form::alltoall && a.workload != "uniform")
    throw usage(
        fmt::format("alltoall sends the same to every rank: it needs the workload uniform, not {}", a.workload));
  if (kind != exchange::form::alltoallv && a.in_place)
    throw usage(fmt::format("--in-place is an alltoallv in one buffer, not an {}", a.collective));
  if (!a.traffic.empty() && a.measured)
    throw usage("--measure has no meaning with --traffic: 'taquin run --traffic' measures a recording");
  return in_session([&](int rank, int world) {
    if (a.traffic.empty()) return execute_explain(a, rank, world);
    const auto traffic = read_recording(a.traffic);
    // Its cores are shared as they would be here; its nodes are not known.
    placement all = placement::of(detail::topology::of_sizes(std::vector{traffic.ranks}));
    if (a.nodes.cores > 0) all.cores = a.nodes.cores;
    return explain_traffic(
        traffic, fmt::format("{}, {} ranks on {}", a.traffic, traffic.ranks, all.words()),
        memory_choice::parse(a.memory),
        [&](int n) {
          placement on = placement::of(detail::topology::of_sizes(std::vector{n}));
          on.here = n == world;
          if (a.nodes.cores > 0) on.cores = a.nodes.cores;
          return profile_for(a, on);
        },
        a.persistent, a.json, rank == 0);
  });
}

std::function<int()> set_up_explain(CLI::App& app) {
  auto a = std::make_shared<explain_arguments>();
  auto* ranks =
      app.add_option("-n,--ranks", a->ranks, "explain for so many ranks; default: those of --nodes, or those that run")
          ->check(CLI::Range(1, 1 << 20));
  auto* workload = app.add_option("-w,--workload", a->workload, "traffic pattern, see below")->capture_default_str();
  auto* bytes = app.add_option("-b,--bytes", a->bytes, "bytes that a rank sends: 64, 4K, 50M")->capture_default_str();
  auto* traffic =
      app.add_option("--traffic", a->traffic, "explain the calls of a recording, on one process or any number")
          ->excludes(workload)
          ->excludes(bytes)
          ->excludes(ranks);
  app.add_flag("--per-pair", a->per_pair, "-b is per pair of ranks");
  app.add_option("-m,--memory", a->memory, "scratch memory per rank: 64K, 1% of what a rank sends, unlimited")
      ->capture_default_str();
  app.add_flag("--in-place", a->in_place, "send and receive in one buffer");
  app.add_flag("--persistent", a->persistent, "for a plan's start and wait rather than a blocking call");
  auto* collective =
      app.add_option("--collective", a->collective, "alltoall, alltoallv, alltoallw, sparse or redistribution")
          ->capture_default_str();
  add_node_flags(app, a->nodes, "those of the ranks that run, or one node for all", "this machine's");
  app.add_option("--model", a->model, "a profile; default: TAQUIN_PROFILE, or the built-in model")
      ->type_name("PROFILE");
  app.add_flag("--measure", a->measured, "run all that serve, and show their times beside the predictions");
  add_json_option(app, a->json, "a JSON array");
  app.add_option("--seed", a->seed, "of random workloads")->capture_default_str();
  a->of_blocks.add_to(app);
  a->of_layouts.add_to(app)->excludes(workload)->excludes(bytes)->excludes(traffic)->excludes(collective);
  app.footer(workload_help() + R"(
Of redistributions they are shift, transpose, one_empty, one_cycle and random ('taquin redistribute --help').
With --from and --to: the bytes of an array that change ranks, and those that layout::relabelled saves.
)" + layout_help() +
             R"(
  taquin explain -n 6 --shape 4096x4096 --from 2x3 --to 2x3:f

Examples:
  taquin explain -n 1000 --per-pair -b 8
  taquin explain --nodes 1,4,2,8 --cores 8 --model cluster.json --per-pair -b 64K
  taquin explain --traffic recorded.json
  taquin explain -n 64 --per-node 16 --collective sparse -w sparse:4 --per-pair -b 1K
  taquin explain -n 16 --collective redistribution -w transpose --blocks 64 -b 1M -m 64K
  mpirun -n 4 taquin explain -w zipf:1.2 -b 64K -m 5% --measure)");
  return [a] {
    if (a->collective != "redistribution") a->of_blocks.refuse();
    if (a->of_layouts.given()) return start_layouts(*a);
    return start(*a);
  };
}

}  // namespace

const command explain_command{"explain", "which algorithm is chosen, and what each would cost", set_up_explain};

}  // namespace taquin::cli
