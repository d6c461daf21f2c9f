// The experiments of Hofmann & Rünger, §4, and taquin's own algorithm beside the paper's.
//
//   mpirun -n P bench_in_place EXPERIMENT [REPETITIONS [BYTES_PER_RANK]]
//
//   parts    time against the number of static parts of the auxiliary memory, and as one heap (figure 2, left)
//   memory   time against the size of the auxiliary memory (figure 2, right)
//   size     time against the bytes of each rank (figure 3, left)
//   shares   requests, data and update of in_place_phases (figure 3, right), and times against ranks (figure 4, right)
//   sparse   time against the number of each rank's peers (figure 4, left)
//
// One JSON record per point on standard output, with what was varied as "x". Times are of plans, each interleaved with
// the MPI library's alltoallv out of place; each rank has a buffer of its own for that.
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/cases.hpp"
#include "harness/errors.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"

namespace {

using namespace taquin;

struct variant {
  const char* name;
  const char* algorithm;
  options opts{};
};

struct experiment {
  std::string name;
  int repetitions;
  count_t bytes;
};

// The parts' seconds of one exchange on the rank where they are longest.
void add_shares(nlohmann::json& r, const statistics& s) {
  const double n = s.starts > 0 ? static_cast<double>(s.starts) : 1;
  std::array<double, 3> parts{s.in_place_phases.requests / n, s.in_place_phases.data / n, s.in_place_phases.update / n};
  MPI_Allreduce(MPI_IN_PLACE, parts.data(), 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  r["requests_s"] = parts[0];
  r["data_s"] = parts[1];
  r["update_s"] = parts[2];
}

// One point of an experiment: all variants, and the MPI library.
void point(const experiment& e, double x, const std::string& workload, count_t bytes, double memory_percent,
           const std::vector<variant>& variants) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const harness::test_case test(harness::parse_workload(workload), exchange::form::alltoallv,
                                harness::buffering::one_buffer, bytes, 1);
  harness::arenas memory(std::pmr::new_delete_resource(), test.calls());
  std::vector<harness::contender> contenders(variants.size() + 1);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  const auto limit = static_cast<std::size_t>(static_cast<double>(bytes) * memory_percent / 100);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    contenders[i + 1].requested = variants[i].algorithm;
    contenders[i + 1].opts = variants[i].opts;
    contenders[i + 1].opts.memory = limit;
  }
  harness::setting s{
      .workload = workload, .collective = "alltoallv", .ranks = ranks, .in_place = true, .persistent = true};
  s.bytes_per_rank = bytes;
  s.memory_limit = limit;
  s.how = harness::measure(test.calls(), memory, contenders, {e.repetitions, 1, true}, [](auto&&...) {});
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    harness::contender& c = contenders[i];
    if (c.fault) continue;
    auto r = harness::record(s, c);
    r["experiment"] = e.name;
    r["x"] = x;
    r["variant"] = i == 0 ? "native" : variants[i - 1].name;
    add_shares(r, c.stats);
    if (rank == 0) fmt::print("{}\n", r.dump());
  }
  std::fflush(stdout);
}

const variant in_place{"in_place", "in_place"};
const variant phases{"in_place_phases", "in_place_phases"};
const variant heap{"in_place_phases, heap", "in_place_phases", {.in_place_phases = {.aux_heap = true}}};
const variant sparse{
    "in_place_phases, all requests", "in_place_phases", {.in_place_phases = {.sparse_requests = false}}};

void run_experiment(const experiment& e, int ranks) {
  if (e.name == "parts") {
    for (const int b : {1, 2, 4, 8, 16})
      point(e, b, "random", e.bytes, 1, {{"static parts", "in_place_phases", {.in_place_phases = {.aux_parts = b}}}});
    point(e, 1, "random", e.bytes, 1, {heap});
  } else if (e.name == "memory") {
    for (const double percent : {0.2, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0})
      point(e, percent, "random", e.bytes, percent, {in_place, phases, heap});
  } else if (e.name == "size") {
    for (count_t bytes = 64 << 10; bytes <= e.bytes; bytes *= 4)
      point(e, static_cast<double>(bytes), "random", bytes,
            bytes < (6 << 20) ? 6553600.0 / static_cast<double>(bytes) : 1, {in_place, phases});
  } else if (e.name == "shares") {
    for (const char* workload : {"random", "uniform"}) point(e, ranks, workload, e.bytes, 1, {in_place, phases});
  } else if (e.name == "sparse") {
    for (const int peers : {1, 2, 4, 8}) {
      if (peers > ranks) break;
      point(e, peers, fmt::format("sparse:{}", peers), e.bytes, 1, {in_place, phases, sparse});
    }
  } else {
    throw harness::usage(fmt::format("no experiment is called '{}'", e.name));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const experiment e{argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 9,
                     argc > 3 ? std::atoll(argv[3]) : count_t{50} << 20};
  return harness::in_session([&](int, int ranks) {
    run_experiment(e, ranks);
    return 0;
  });
}
