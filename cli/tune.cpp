// taquin tune: measure a grid of exchanges, from which auto then chooses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/sizes.hpp"
#include "cli/command.hpp"
#include "cli/misspelt.hpp"
#include "cli/rules.hpp"
#include "cli/tune_traffic.hpp"
#include "harness/cases.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/offline.hpp"
#include "harness/output.hpp"
#include "harness/predictor.hpp"
#include "harness/progress.hpp"
#include "harness/recording.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "select/profile.hpp"
#include "simulation/calibrate.hpp"

namespace taquin::cli {

namespace {

struct tune_arguments {
  std::string file;
  std::string traffic;
  std::vector<std::string> workloads{"uniform", "random", "sparse:2"};
  std::string bytes = "8..64K";
  int step = 3;
  int repetitions = 11;
  double within = 300;
};

/// One exchange of the grid.
struct cell {
  std::string workload;
  count_t bytes = 0;  // per pair
  bool persistent = false;
  buffering how = buffering::separate;
};

// The first and the last of n, then each time the middle of the widest gap: where time is over, what is left lies
// between.
std::vector<std::size_t> coarse_first(std::size_t n) {
  std::vector<std::size_t> order{0};
  if (n > 1) order.push_back(n - 1);
  while (order.size() < n) {
    auto sorted = order;
    std::ranges::sort(sorted);
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
      if (sorted[i + 1] - sorted[i] > sorted[at + 1] - sorted[at]) at = i;
    order.push_back((sorted[at] + sorted[at + 1]) / 2);
  }
  return order;
}

std::vector<cell> grid(const tune_arguments& a) {
  const auto all = parse_sizes(a.bytes);
  std::vector<count_t> sizes;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i % detail::as_size(a.step) == 0 || i + 1 == all.size()) sizes.push_back(all[i]);
  std::vector<cell> cells;
  for (const std::size_t i : coarse_first(sizes.size()))
    for (const auto& w : a.workloads)
      for (const bool persistent : {false, true})
        for (const auto how : {buffering::separate, buffering::one_buffer})
          cells.push_back({w, sizes[i], persistent, how});
  return cells;
}

// Brings the result to all ranks.
std::vector<detail::measured_point> measure_cell(const cell& c, int ranks, int repetitions,
                                                 const machine_model& model) {
  const auto w = parse_workload(c.workload);
  const workloads::problem_size size{ranks, c.bytes * ranks, 1};
  const auto kind = exchange::form::alltoallv;
  const auto s = offline_shape(w, size, kind, c.how);
  const test_case test(w, kind, c.how, size.bytes, size.seed);
  const predictor predict(w, size, kind, c.how, c.persistent, unlimited);
  arenas memory(std::pmr::new_delete_resource(), test.calls());
  auto names = test.served_by();
  if (c.how == buffering::separate) names.insert(names.begin(), "native");
  std::vector<contender> contenders(names.size() + 1);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) contenders[i + 1].requested = names[i];
  measure(test.calls(), memory, contenders,
          {.repetitions = repetitions, .persistent = c.persistent, .drop = not_worth_measuring}, [](auto&&...) {});
  std::vector<detail::measured_point> points;
  for (const auto& one : contenders) {
    if (one.raw || one.fault) continue;
    if (one.wrong != 0) throw harness::failure(fmt::format("{} gave {} wrong bytes", one.requested, one.wrong));
    const timing t = timing_of(one.seconds);
    points.push_back({.algorithm = one.requested,
                      .ranks = ranks,
                      .kind = kind,
                      .in_place = s.in_place,
                      .symmetric = s.symmetric,
                      .reused = c.persistent,
                      .skew = detail::skew_of(s),
                      .bytes = static_cast<double>(std::max(s.max_rank_bytes, s.max_received_bytes)),
                      .time = t.median,
                      .predicted = predict(one.requested, one.opts, model).value_or(0),
                      .low = std::isfinite(t.high) ? t.low : 0,
                      .high = std::isfinite(t.high) ? t.high : 0});
  }
  return points;
}

timing timing_of_point(const detail::measured_point& p) {
  return {p.time, p.low, p.high > 0 ? p.high : std::numeric_limits<double>::infinity()};
}

// "; not told apart from A, B": whose intervals meet that of the best.
std::string not_told_apart(const std::vector<detail::measured_point>& points, const detail::measured_point& best) {
  const timing least = timing_of_point(best);
  std::string names;
  for (const auto& p : points)
    if (&p != &best && timing_of_point(p).low <= least.high)
      names += (names.empty() ? "; not told apart from " : ", ") + p.algorithm;
  return names;
}

// On rank 0; an error there is one of all ranks.
void write(int rank, const std::string& file, const detail::profile& p) {
  std::optional<std::string> fault;
  if (rank == 0) {
    try {
      detail::write_profile(file, p);
    } catch (const detail::profile_error& e) {
      fault = e.what();
    }
  }
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw harness::failure(*any);
}

int execute_tune(const tune_arguments& a, int rank, int ranks) {
  if (ranks < 2) throw usage("tune measures exchanges: it needs at least 2 ranks (mpirun -n 4 taquin tune ...)");
  std::optional<workloads::traffic> recording;
  if (!a.traffic.empty()) recording = read_recording(a.traffic, ranks);
  check_writable(a.file, rank);
  detail::profile p = detail::profile_of(detail::calibrate(MPI_COMM_WORLD, count_t{1} << 20));
  if (rank == 0) fmt::print(stderr, "{}\n{}", words_of(p.made_on), detail::poor_fits(p.model.kind, p.fits));
  progress display(rank == 0);
  if (recording) {
    const std::string table = tune_traffic(*recording, a.repetitions, a.within, p, display,
                                           [&](const detail::profile& so_far) { write(rank, a.file, so_far); });
    display.clear();
    if (rank == 0)
      fmt::print("{}\n{} rules written to {}{}\n", table, p.rules.size(), a.file,
                 p.rules.empty() ? "" : ": set TAQUIN_PROFILE to it");
    return 0;
  }
  const auto cells = grid(a);
  const time_limit_of_all limit(a.within);
  std::string fastest;
  int unclear = 0;
  std::size_t i = 0;
  for (; i < cells.size() && !limit.done(); ++i) {
    const cell& c = cells[i];
    const std::string what =
        fmt::format("{} {} per pair{}{}", c.workload, show_size(c.bytes), c.persistent ? ", persistent" : "",
                    c.how == buffering::separate ? "" : ", one buffer");
    display.show(what, static_cast<double>(i) / static_cast<double>(cells.size()));
    const auto points = measure_cell(c, ranks, a.repetitions, p.model);
    if (points.empty()) continue;
    const auto best = std::ranges::min_element(points, {}, &detail::measured_point::time);
    const std::string equals = not_told_apart(points, *best);
    unclear += equals.empty() ? 0 : 1;
    fastest += fmt::format("{:<44} {:<20} {}{}\n", what, best->algorithm, show_timing(timing_of_point(*best)), equals);
    p.points.insert(p.points.end(), points.begin(), points.end());
    write(rank, a.file, p);  // an interrupted tune keeps the exchanges that it has measured
  }
  display.clear();
  write(rank, a.file, p);
  if (rank == 0)
    fmt::print("{}\n{} times of {} exchanges written to {}: set TAQUIN_PROFILE to it\n{}{}", fastest, p.points.size(),
               i, a.file, left_over("exchanges of sizes between", cells.size() - i, a.within),
               unclear == 0
                   ? ""
                   : fmt::format("in {} of them the fastest is not told apart from another; auto takes the least "
                                 "median. More --reps, and a machine with nothing else to do, tell more apart\n",
                                 unclear));
  return 0;
}

std::function<int()> set_up_tune(CLI::App& app) {
  auto a = std::make_shared<tune_arguments>();
  app.add_option("-o,--output", a->file, "write the profile here, as JSON")->required()->type_name("FILE");
  auto* traffic = app.add_option("--traffic", a->traffic,
                                 "measure the calls of a recording, on its number of ranks, and write rules for them");
  app.add_option("-w,--workload", a->workloads, "traffic pattern, see below")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME[,NAME...]")
      ->excludes(traffic);
  app.add_option("-b,--bytes", a->bytes, "bytes per pair: 64, 4K; 8..64K doubles")
      ->capture_default_str()
      ->excludes(traffic);
  app.add_option("--step", a->step, "take every so many of these sizes")
      ->check(at_least_one())
      ->excludes(traffic)
      ->capture_default_str();
  app.add_option("--reps", a->repetitions, "repetitions of each")->check(at_least_one())->capture_default_str();
  app.add_option("--within", a->within, "seconds for everything; what was not measured is reported")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str()
      ->type_name("SECONDS");
  app.footer(workload_help() + R"(
Every algorithm that serves is measured, blocking and persistent, with separate buffers and in one; one that takes twice
as long as the fastest after 4 repetitions is not repeated on. Sizes are taken from both ends to the middle, until
--within is over. The profile holds these times beside the fitted model. It is valid for this number of ranks:
tune on as many ranks as the program has.

With --traffic each kind of call of a program is measured, and rules say which algorithm does it. There is a rule where
the 95% interval of the best algorithm is below those of auto and of the MPI library's own call, and none elsewhere.

The file is replaced after each exchange that was measured, so that an interrupted tune keeps those before.

Examples:
  mpirun -n 8 taquin tune -o machine.json
  mpirun -n 8 taquin tune --traffic program.json -o program-rules.json
  TAQUIN_PROFILE=machine.json mpirun -n 8 program)");
  return [a] {
    for (const auto& w : a->workloads) static_cast<void>(parse_workload(w));
    static_cast<void>(parse_sizes(a->bytes));
    return in_session([&](int rank, int ranks) { return execute_tune(*a, rank, ranks); });
  };
}

}  // namespace

const command tune_command{"tune", "measure exchanges, so that auto goes by what was measured", set_up_tune};

}  // namespace taquin::cli
