// The proof of the choice: over a grid of problems, auto beside every algorithm, interleaved. Writes one JSON object a
// line; summary.sh makes the table of docs/selection.md of them.
//
//   mpirun -n 4 bench_selection --part 0/2 >> problems.jsonl
#include "model/selection.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/cases.hpp"
#include "cli/measure.hpp"
#include "cli/names.hpp"
#include "cli/offline.hpp"
#include "cli/session.hpp"
#include "cli/statistics.hpp"
#include "mpi/communicator.hpp"
#include "plan/choose.hpp"
#include "topology/detect.hpp"

namespace taquin::cli {

namespace {

struct cell {
  const char* workload;
  count_t bytes;  // per pair
  bool persistent;
  buffering how;
};

std::vector<cell> grid() {
  std::vector<cell> all;
  for (const count_t bytes : {8, 64, 512, 4096, 32768, 131072})
    for (const bool persistent : {false, true}) {
      for (const char* w : {"uniform", "random", "zipf", "sparse:2"})
        all.push_back({w, bytes, persistent, buffering::separate});
      for (const char* w : {"uniform", "random"}) all.push_back({w, bytes, persistent, buffering::one_buffer});
    }
  return all;
}

nlohmann::json measure_cell(const cell& c, int ranks, int repetitions) {
  const auto w = parse_workload(c.workload);
  const auto kind = exchange::form::alltoallv;
  const workloads::problem_size size{ranks, c.bytes * ranks, 1};
  const test_case test(w, kind, c.how, size.bytes, size.seed);
  arena memory;
  for (const problem& p : test.calls()) p.reserve(memory);
  auto names = test.served_by();
  names.insert(names.begin(), "auto");
  if (c.how == buffering::separate) names.emplace_back("native");
  std::vector<contender> all(names.size() + 1);
  all[0].asked = "native";
  all[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) all[i + 1].asked = names[i];
  measure(test.calls(), memory, all, {.repetitions = repetitions, .persistent = c.persistent}, [](double) {});

  auto shape = offline_shape(w, size, kind, c.how);
  auto& comm = mpi::communicator::of(MPI_COMM_WORLD);
  const auto& nodes = detail::nodes_of(comm, {})->topology.nodes();
  shape.nodes = nodes.groups(), shape.largest_node = nodes.largest(), shape.smallest_node = nodes.smallest();
  detail::profile known = detail::chooser::of(comm).known();
  known.points.clear();
  nlohmann::json r{{"ranks", ranks},
                   {"workload", c.workload},
                   {"bytes_per_pair", c.bytes},
                   {"persistent", c.persistent},
                   {"in_place", c.how != buffering::separate}};
  const double native = median(all[0].seconds);
  r["native_s"] = native;
  double best = c.how == buffering::separate ? 1 : 1e9;  // as ratios to native, which ran beside each
  r["best"] = "native";
  for (const auto& one : all) {
    if (one.raw || one.fault) continue;
    const double ratio = median(one.ratios);
    if (one.asked == "auto") {
      r["auto"] = one.name;
      r["auto_ratio"] = ratio;
      r["wrong_bytes"] = one.wrong;
      continue;
    }
    if (ratio < best) best = ratio, r["best"] = one.asked;
    if (!c.persistent) continue;  // predictions are of the exchange alone
    const double measured = median(one.seconds);
    for (const model_kind k : all_models) {
      known.model.kind = k;
      const double predicted = detail::predict(*detail::find_algorithm(one.asked), shape, {}, c.persistent, known);
      r["errors"][std::string(name_of(k))].push_back(std::abs(predicted - measured) / measured);
    }
  }
  r["best_ratio"] = best;
  return r;
}

int work(int part, int parts, int repetitions, int rank, int ranks) {
  const auto cells = grid();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (static_cast<int>(i % static_cast<std::size_t>(parts)) != part) continue;
    const auto r = measure_cell(cells[i], ranks, repetitions);
    if (rank == 0) fmt::print("{}\n", r.dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

}  // namespace taquin::cli

int main(int argc, char** argv) {
  CLI::App app("auto against every algorithm, over a grid of problems");
  int part = 0;
  int parts = 1;
  int repetitions = 7;
  app.add_option("--part", part, "which part of the grid");
  app.add_option("--parts", parts, "of how many")->check(CLI::PositiveNumber);
  app.add_option("--reps", repetitions, "repetitions")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return taquin::cli::in_session(
      [&](int rank, int ranks) { return taquin::cli::work(part, parts, repetitions, rank, ranks); });
}
