// The proof of the choice: over a grid of problems, auto beside every algorithm, interleaved. Writes one JSON object a
// line; summary.sh makes tables of them. docs/internals/selection.md describes them.
//
//   mpirun -n 4 bench_selection --part 0/2 >> problems.jsonl
#include "select/selection.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cases.hpp"
#include "harness/errors.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "select/choose.hpp"

namespace taquin::harness {

namespace {

struct cell {
  const char* workload;
  count_t bytes;  // per pair
  bool persistent;
  buffering how;
  std::size_t memory;
};

std::vector<cell> grid() {
  constexpr std::size_t little = 4096;
  std::vector<cell> all;
  for (const count_t bytes : {8, 64, 512, 4096, 32768, 131072})
    for (const bool persistent : {false, true}) {
      for (const char* w : {"uniform", "random", "zipf", "sparse:2"})
        all.push_back({w, bytes, persistent, buffering::separate, unlimited});
      for (const char* w : {"uniform", "random"}) {
        all.push_back({w, bytes, persistent, buffering::separate, little});
        all.push_back({w, bytes, persistent, buffering::one_buffer, unlimited});
      }
      all.push_back({"random", bytes, persistent, buffering::one_buffer, 4 * little});
    }
  return all;
}

// The raw call, auto, and every algorithm that serves.
std::vector<contender> line_up(const cell& c, const test_case& test) {
  auto names = test.served_by();
  names.insert(names.begin(), "auto");
  if (c.how == buffering::separate) names.insert(names.begin() + 1, "native");
  std::vector<contender> all(names.size() + 1);
  all[0].requested = "native";
  all[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all[i + 1].requested = names[i];
    all[i + 1].opts.memory = c.memory;
  }
  return all;
}

// Of plans, because predictions are of the exchange alone.
nlohmann::json prediction_errors(const cell& c, int ranks, const std::vector<contender>& all) {
  auto shape = offline_shape(parse_workload(c.workload), {ranks, c.bytes * ranks, 1}, exchange::form::alltoallv, c.how);
  auto& comm = mpi::communicator::get_or_create(MPI_COMM_WORLD);
  const auto& nodes = detail::nodes_of(comm, {})->topology.nodes();
  shape.nodes = nodes.groups(), shape.largest_node = nodes.largest(), shape.smallest_node = nodes.smallest();
  detail::profile known = detail::chooser::get_or_create(comm).known();
  known.points.clear();
  nlohmann::json errors = nlohmann::json::object();
  if (!c.persistent || c.memory != unlimited) return errors;
  for (const auto& one : all) {
    if (one.raw || one.fault || one.requested == "auto") continue;
    const double measured = median(one.seconds);
    for (const model_kind k : all_models) {
      known.model.kind = k;
      const double predicted = detail::predict(*detail::find_algorithm(one.requested), shape, {}, true, known);
      errors[std::string(name_of(k))][one.requested] = predicted / measured;
    }
  }
  return errors;
}

nlohmann::json measure_cell(const cell& c, int ranks, int repetitions) {
  const test_case test(parse_workload(c.workload), exchange::form::alltoallv, c.how, c.bytes * ranks, 1);
  arenas memory(std::pmr::new_delete_resource(), test.calls());
  auto all = line_up(c, test);
  measure(test.calls(), memory, all, {.repetitions = repetitions, .persistent = c.persistent}, [](auto&&...) {});
  nlohmann::json r{{"ranks", ranks},
                   {"workload", c.workload},
                   {"bytes_per_pair", c.bytes},
                   {"persistent", c.persistent},
                   {"in_place", c.how != buffering::separate},
                   {"limited", c.memory != unlimited},
                   {"native_s", median(all[0].seconds)}};
  // As ratios to the raw call, which ran beside each: median and 95% interval.
  for (const auto& one : all) {
    if (one.raw || one.fault) continue;
    if (one.wrong != 0) throw failure(fmt::format("{} gave {} wrong bytes", one.requested, one.wrong));
    const summary ratio = summarise(one.ratios);
    const nlohmann::json result{ratio.median, ratio.ci95.low, ratio.ci95.high};
    if (one.requested == "auto") {
      r["chosen"] = one.name;
      r["auto"] = result;
    } else {
      r["algorithms"][one.requested] = result;
    }
  }
  r["predicted_over_measured"] = prediction_errors(c, ranks, all);
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

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("auto against every algorithm, over a grid of problems");
  int part = 0;
  int parts = 1;
  int repetitions = 7;
  app.add_option("--part", part, "which part of the grid");
  app.add_option("--parts", parts, "of how many")->check(CLI::PositiveNumber);
  app.add_option("--reps", repetitions, "repetitions")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session(
      [&](int rank, int ranks) { return taquin::harness::work(part, parts, repetitions, rank, ranks); });
}
