// The adversary: random calls, each interleaved with the MPI library's own; the worst are measured again, made simpler,
// and printed with the command that repeats them. `make regret` runs it for several numbers of ranks.
//
//   mpirun -n 4 bench_regret --cells 100 --seed 7 --json 4.json
//   mpirun -n 4 bench_regret --cell "use=call form=alltoallw workload=empty bytes=1024"
//   bench_regret --summary 2.json 4.json --json regret.json
#include <fmt/format.h>
#include <malloc.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/regret/cell.hpp"
#include "bench/regret/summary.hpp"
#include "bench/regret/trial.hpp"
#include "harness/errors.hpp"
#include "harness/output.hpp"
#include "harness/session.hpp"
#include "mpi/check.hpp"

namespace taquin::regret {

namespace {

struct arguments {
  int cells = 100;
  std::uint64_t seed = 1;
  double seconds = 0;
  double again = 1.05;
  int worst = 3;
  bool choice = false;
  std::string only;
  std::string cell;
  std::string json;
  std::vector<std::string> summary;
};

result measured(const arguments& a, const cell& c) {
  return a.choice ? against_named(c, a.again) : against_native(c, a.again);
}

nlohmann::json record_of(const arguments& a, const cell& c, const result& r, int ranks) {
  nlohmann::json j{{"algorithm", r.algorithm.empty() ? "auto" : r.algorithm},
                   {"asked", "auto"},
                   {"rival", r.rival},
                   {"against", a.choice ? "named" : "native"},
                   {"family", family_of(c, a.choice)},
                   {"use", c.use},
                   {"workload", c.workload},
                   {"collective", c.use == "blocks" ? "redistribute" : c.form},
                   {"ranks", ranks},
                   {"in_place", c.use == "in_place" || c.use == "blocks"},
                   {"bytes_per_rank", c.bytes},
                   {"memory_limit", nullptr},
                   {"cell", to_text(c)},
                   {"command", fmt::format("mpirun -n {} bench_regret {}--cell \"{}\"", ranks,
                                           a.choice ? "--choice " : "", to_text(c))}};
  if (c.memory > 0) j["memory_limit"] = c.memory;
  if (!r.fault.empty()) {
    j["reason"] = r.fault;
    return j;
  }
  j["regret"] = r.ratio.median - 1;
  j["ratio_to_rival"] = r.ratio.median;
  j["ratio_ci95"] = {r.ratio.ci95.low, r.ratio.ci95.high};
  j["median_s"] = r.seconds;
  j["rival_s"] = r.native_seconds;
  j["measured_times"] = r.times;
  j["wrong_bytes"] = r.wrong;
  return j;
}

double elapsed_since(double start) {
  double seconds = MPI_Wtime() - start;
  TAQUIN_MPI(MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
  return seconds;
}

// As property tests shrink: a simpler cell takes the place of one that is bad when it is still half as bad.
nlohmann::json shrunk(const arguments& a, cell c, const nlohmann::json& found, int ranks) {
  constexpr int most_tries = 40;
  nlohmann::json best = found;
  int tries = 0;
  for (bool simpler_found = true; simpler_found;) {
    simpler_found = false;
    for (const cell& candidate : simpler(c)) {
      if (++tries > most_tries) return best;
      const result r = measured(a, candidate);
      if (!r.fault.empty() || r.ratio.median - 1 < std::max(a.again - 1, best["regret"].get<double>() / 2)) continue;
      c = candidate;
      best = record_of(a, c, r, ranks);
      best["found_as"] = found["cell"];
      simpler_found = true;
      break;
    }
  }
  return best;
}

int one_cell(const arguments& a, int rank, int ranks) {
  const cell c = parse_cell(a.cell);
  harness::output out(a.json, rank);
  const auto r = record_of(a, c, measured(a, c), ranks);
  if (out.text() != nullptr) fmt::print(out.text(), "{}\n", line_of(r));
  out.add({r});
  out.finish();
  return r.value("wrong_bytes", 0) == 0 ? 0 : harness::failure_status;
}

int work(const arguments& a, int rank, int ranks) {
  if (!a.cell.empty()) return one_cell(a, rank, ranks);
  harness::output out(a.json, rank);
  std::mt19937_64 random(a.seed * 64 + static_cast<unsigned>(ranks));
  const double start = MPI_Wtime();
  std::vector<nlohmann::json> records;
  std::vector<cell> cells;
  for (int i = 0; i < a.cells; ++i) {
    cell c = random_cell(random, ranks);
    if (!a.only.empty() && family_of(c, false) != a.only) continue;
    if (a.choice && (c.use == "blocks" || c.types != "bytes" || c.life > 0)) continue;
    // A part of the time is for making the worst simpler.
    if (a.seconds > 0 && elapsed_since(start) > a.seconds * 0.8) break;
    records.push_back(record_of(a, c, measured(a, c), ranks));
    cells.push_back(std::move(c));
    if (out.text() != nullptr && records.back().value("regret", 0.0) > a.again - 1) {
      fmt::print(out.text(), "{}\n", line_of(records.back()));
      std::fflush(out.text());
    }
  }
  std::vector<std::size_t> order(records.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return records[i].value("regret", -1.0); });
  for (std::size_t k = 0; k < std::min(order.size(), static_cast<std::size_t>(a.worst)); ++k) {
    if (records[order[k]].value("regret", -1.0) <= a.again - 1) break;
    if (a.seconds > 0 && elapsed_since(start) > a.seconds) break;
    records[order[k]]["simplest"] = shrunk(a, cells[order[k]], records[order[k]], ranks);
  }
  count_t wrong = 0;
  for (const auto& r : records) wrong += r.value("wrong_bytes", count_t{0});
  if (out.text() != nullptr) print_summary(out.text(), records);
  out.add(std::move(records));
  out.finish();
  return wrong == 0 ? 0 : harness::failure_status;
}

}  // namespace

}  // namespace taquin::regret

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Freed memory stays: returning it to the system and allocating again takes longer than a small call, at random.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
#endif
  CLI::App app("random calls, each timed in turn with the MPI library's own; the worst are made simpler");
  taquin::regret::arguments a;
  app.add_option("--cells", a.cells, "random calls")->check(CLI::PositiveNumber);
  app.add_option("--seed", a.seed, "of the cells");
  app.add_option("--seconds", a.seconds, "stop after about so many; 0: when all cells are done");
  app.add_option("--again", a.again, "a ratio above this is measured again, up to three times; the least counts");
  app.add_option("--worst", a.worst, "how many are made simpler");
  app.add_flag("--choice", a.choice, "auto against the fastest algorithm by name, instead of the MPI library");
  app.add_option("--only", a.only, "only cells of this family: calls, in_place, blocks");
  app.add_option("--cell", a.cell, "one cell, as printed");
  app.add_option("--json", a.json, "write records to a file, or with - to standard output");
  app.add_option("--summary", a.summary, "files of records: print one summary of all; with --json write them as one");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!a.summary.empty()) return taquin::regret::summarise_files(a.summary, a.json);
    if (!a.cell.empty()) static_cast<void>(taquin::regret::parse_cell(a.cell));
  } catch (const std::exception& e) {
    taquin::harness::print_once({}, fmt::format("bench_regret: {}\n", e.what()));
    return taquin::harness::usage_status;
  }
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::regret::work(a, rank, ranks); });
}
