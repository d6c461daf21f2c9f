// taquin redistribute: move blocks in place, verify every byte, time, tabulate.
#include "taquin/redistribute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <memory_resource>
#include <optional>

#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/misspelt.hpp"
#include "cli/plan_json.hpp"
#include "cli/redistribute_layouts.hpp"
#include "cli/redistribution_race.hpp"
#include "harness/block_maps.hpp"
#include "harness/block_problem.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "mpi/check.hpp"
#include "redistribute/machine.hpp"
#include "taquin/error.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::cli {

namespace {

struct redistribute_arguments {
  std::string workload = "shift";
  count_t blocks = 0;
  std::string bytes = "4M";
  std::string block_bytes = "16K";
  std::string free = "0%";
  std::vector<std::string> algorithms{"all"};
  std::string memory = "unlimited";
  bool shared_buffers = false;
  int repetitions = 0;
  std::string json;
  double least_progress = 0;
  std::uint64_t seed = 1;
  layout_arguments layouts;
};

struct redistribute_choices {
  const redistribute_arguments* given;
  const block_workload* workload;
  count_t block_bytes;
  count_t blocks;
  count_t live;
  memory_choice memory;
};

redistribute_choices interpret(const redistribute_arguments& a) {
  for (const std::string& name : a.algorithms)
    if (name != "all" && name != "native" && detail::find_redistribution(name) == nullptr)
      throw usage(unknown_algorithm(name, "all, auto, native, " + detail::redistribution_names()));
  redistribute_choices c{&a, nullptr, parse_size(a.block_bytes), a.blocks, 0, memory_choice::parse(a.memory)};
  if (c.block_bytes < 1) throw usage("a block has at least 1 byte");
  if (c.blocks == 0) c.blocks = std::max<count_t>(parse_size(a.bytes) / c.block_bytes, 1);
  const memory_choice free = memory_choice::parse(a.free);
  const auto part = free.relative
                        ? static_cast<count_t>(std::llround(static_cast<double>(c.blocks) * free.percent / 100))
                        : free.bytes;
  if (!free.limited || part > c.blocks) throw usage(fmt::format("--free {} of {} blocks", a.free, c.blocks));
  c.workload = &find_block_workload(a.workload, c.blocks, part);
  c.live = c.blocks - part;
  return c;
}

double repetition(block_problem& p, contender& c) {
  if (c.raw) {
    p.fill_native();
  } else {
    p.fill();
  }
  const double seconds = timed(c.calls.front());
  c.wrong += c.raw ? p.wrong_native() : p.wrong_bytes();
  return seconds;
}

std::vector<contender> line_up(const redistribute_choices& c) {
  std::vector<contender> all(1);
  all[0].requested = "native";
  all[0].raw = true;
  const auto add = [&](std::string_view name) {
    if (std::ranges::any_of(all, [&](const contender& x) { return x.requested == name; })) return;
    all.emplace_back();
    all.back().requested = name;
  };
  for (const std::string& name : c.given->algorithms) {
    if (name != "all") add(name);
    for (const auto* a : detail::redistributions())
      if (name == "all") add(a->name);
  }
  return all;
}

// For the report page: the algorithm's moves event by event, from a run of all ranks in one process, with as many
// blocks as a page can show, in the proportions of the measured problem. Null if even few are too many.
nlohmann::json over_time(const redistribute_choices& c, const std::string& name, int ranks) {
  constexpr count_t most_traced_blocks = 2048;  // of all ranks
  constexpr count_t least_blocks = 8;
  const auto* algorithm = detail::find_redistribution(name);
  const count_t blocks = std::min(c.blocks, most_traced_blocks / ranks);
  if (algorithm == nullptr || blocks < std::min(c.blocks, least_blocks)) return {};
  const count_t live = (blocks * c.live + c.blocks - 1) / c.blocks;
  return plan_redistribution(*algorithm, c.given->workload, ranks, blocks, live, c.block_bytes, c.given->seed);
}

int execute_redistribute(const redistribute_choices& c, int rank, int ranks) {
  block_problem problem(*c.workload, c.blocks, c.live, c.block_bytes, c.given->seed,
                        c.given->shared_buffers ? &shared_resource() : std::pmr::new_delete_resource());
  count_t most = problem.bytes_sent();
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  count_t free = std::ranges::count(problem.map().ranks, -1);
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &free, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  setting s{.workload = c.given->workload,
            .collective = "redistribute",
            .ranks = ranks,
            .in_place = true,
            .bytes_per_rank = most,
            .memory_limit = c.memory.limit(most),
            .seed = c.given->seed};
  auto contenders = line_up(c);
  std::vector<std::shared_ptr<redistribution>> objects;
  contenders[0].calls.emplace_back([&] { problem.run_native(); });
  for (contender& one : contenders) {
    if (one.raw) continue;
    try {
      auto object = std::make_shared<redistribution>(problem.data(), c.blocks, c.block_bytes, MPI_BYTE, MPI_COMM_WORLD,
                                                     redistribute_options{.algorithm = one.requested,
                                                                          .memory = s.memory_limit,
                                                                          .least_progress = c.given->least_progress,
                                                                          .stats = &one.stats});
      one.calls.emplace_back([&problem, object] { (*object)(problem.map().ranks, problem.map().indices); });
    } catch (const budget_exceeded& e) {
      one.fault = e.what();
    }
  }
  problem.account_native(contenders[0].stats);
  return race_redistributions(
      s, contenders, c.given->repetitions, c.given->json, [&](contender& one) { return repetition(problem, one); },
      [&](nlohmann::json& record, const contender& one) {
        record["blocks"] = c.blocks;
        record["block_bytes"] = c.block_bytes;
        record["free_blocks"] = free / ranks;
        if (rank == 0 && !c.given->json.empty() && !one.raw && !one.fault)
          record["over_time"] = over_time(c, one.name, ranks);
      });
}

std::string redistribute_footer() {
  return block_workload_help() + R"(
Blocks are moved in place; "native" is the MPI library's alltoallv of the same bytes between the same ranks, out of
place. Any wrong byte makes the exit status 1.

Examples:
  mpirun -n 8 taquin redistribute -w shift -b 50M                       no free block
  mpirun -n 8 taquin redistribute -w transpose --free 20% -a auto,parking
  mpirun -n 8 taquin redistribute -w random --blocks 100000 --block-bytes 64

With --from and --to an array goes from one layout to another, from one buffer to another; "native" packs all, calls
MPI_Alltoallv and unpacks. )" +
         layout_help() +
         R"(
  mpirun -n 4 taquin redistribute --shape 4096x4096 --from 2x2/64x64:f --to 1x4/1024x1024:f
  mpirun -n 4 taquin redistribute --shape 256x256x256 --element 16 --from 4x1x1 --to 1x4x1 --axes 1,0,2)";
}

std::function<int()> set_up_redistribute(CLI::App& app) {
  auto a = std::make_shared<redistribute_arguments>();
  app.add_option("-w,--workload", a->workload, "where blocks go, see below")->capture_default_str();
  auto* bytes = app.add_option("-b,--bytes", a->bytes, "bytes of a rank's array")->capture_default_str();
  app.add_option("--blocks", a->blocks, "blocks of a rank's array, instead of --bytes")
      ->check(CLI::Range(count_t{1}, detail::most_blocks))
      ->excludes(bytes);
  app.add_option("--block-bytes", a->block_bytes, "bytes of a block")->capture_default_str();
  app.add_option("--free", a->free, "free blocks of a rank's array: a number or a part")
      ->capture_default_str()
      ->type_name("NUMBER|PERCENT%");
  app.add_option("-a,--algorithm", a->algorithms, "names from 'taquin list --redistribution', auto, or all")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME[,NAME...]");
  app.add_option("-m,--memory", a->memory, "scratch memory per rank: 64K, 1% of what a rank sends, unlimited")
      ->capture_default_str();
  app.add_option("--least-progress", a->least_progress,
                 "part of the remaining blocks below which a round makes the algorithm hand over; 0: never")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--shared-buffers", a->shared_buffers, "buffers that the ranks of a node map");
  app.add_option("--reps", a->repetitions, "repetitions; default: 10 to 200, about 2 s for each algorithm")
      ->check(at_least_one());
  add_json_option(app, a->json, "records");
  app.add_option("--seed", a->seed, "of random workloads")->capture_default_str();
  a->layouts.flags.add_to(app);
  app.add_flag("--relabel", a->layouts.relabel, "give the target's positions to the ranks that move the fewest bytes");
  app.footer(redistribute_footer());
  return [a] {
    if (a->layouts.flags.given()) {
      a->layouts.memory = a->memory;
      a->layouts.repetitions = a->repetitions;
      a->layouts.json = a->json;
      return redistribute_layouts(a->layouts);
    }
    const redistribute_choices c = interpret(*a);
    return in_session([&](int rank, int ranks) { return execute_redistribute(c, rank, ranks); });
  };
}

}  // namespace

const command redistribute_command{"redistribute", "move blocks in place, verify every byte, time, tabulate",
                                   set_up_redistribute};

}  // namespace taquin::cli
