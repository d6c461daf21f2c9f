// taquin run: exchange, verify every byte, time, tabulate.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>

#include "cli/command.hpp"
#include "cli/json_option.hpp"
#include "cli/misspelt.hpp"
#include "cli/option_flags.hpp"
#include "cli/run_sparse.hpp"
#include "harness/cases.hpp"
#include "harness/measure.hpp"
#include "harness/names.hpp"
#include "harness/output.hpp"
#include "harness/predictor.hpp"
#include "harness/progress.hpp"
#include "harness/recording.hpp"
#include "harness/records.hpp"
#include "harness/session.hpp"
#include "harness/sizes.hpp"
#include "harness/start.hpp"
#include "harness/tables.hpp"
#include "mpi/check.hpp"
#include "taquin/shared_buffer.hpp"

namespace taquin::cli {

namespace {

struct run_arguments {
  std::string workload = "uniform";
  std::string traffic;
  std::string bytes = "64K";
  std::vector<std::string> algorithms{"all"};
  std::string memory = "unlimited";
  std::string json;
  std::string collective = "alltoallv";
  detail::owned_options opts;  // algorithm and memory aside
  std::uint64_t seed = 1;
  int repetitions = 0;
  int batch = 0;
  bool per_pair = false;
  bool in_place = false;
  bool mpi_in_place = false;
  bool persistent = false;
  bool shared_buffers = false;
  bool osu = false;
  std::string csv;
  std::string sync = "barrier";
  std::string arrival = "together";
  std::string until;
};

// The arguments with everything parsed that can be wrong on its own.
struct run_choices {
  const run_arguments* given;
  workloads::workload workload;
  exchange::form collective;
  std::vector<count_t> sizes;
  memory_choice memory;
  sync_by sync;
  arrival when;
  double until = 0;
};

// "2%"; nothing is 0.
double parse_until(const std::string& text) {
  if (text.empty()) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double percent = 100;
  if (error != std::errc{} || std::string(end, text.data() + text.size()) != "%" || value <= 0 || value > percent)
    throw usage(fmt::format("--until {}: a part of the median above 0 and up to 100%, such as 2%", text));
  return value / percent;
}

run_choices interpret(const run_arguments& a) {
  check_algorithms(a.algorithms, true);
  run_choices c{&a,
                parse_workload(a.workload),
                parse_collective(a.collective),
                parse_sizes(a.bytes),
                memory_choice::parse(a.memory),
                parse_sync(a.sync),
                arrival::parse(a.arrival),
                parse_until(a.until)};
  if (a.osu && (!a.traffic.empty() || a.json == "-" || a.csv == "-"))
    throw usage("--osu prints a table of sizes on standard output: neither --traffic nor other records go there");
  if (c.collective == exchange::form::alltoall && a.workload != "uniform" && a.traffic.empty())
    throw usage(
        fmt::format("alltoall sends the same to every rank: it needs the workload uniform, not {}", a.workload));
  if (a.mpi_in_place && !a.traffic.empty())
    throw usage("--mpi-in-place has no meaning with --traffic: a recording specifies the form of its calls");
  if (c.collective != exchange::form::alltoallv && a.in_place)
    throw usage(fmt::format("--in-place is an alltoallv in one buffer, not an {}", a.collective));
  return c;
}

bool is_named(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Native first; then the named algorithms, or all that serve.
std::vector<contender> line_up(const run_choices& c, const test_case& test, std::size_t limit) {
  std::vector<std::string> names;
  for (const std::string& name : c.given->algorithms) {
    const auto add = name == "all" ? test.served_by() : std::vector{name};
    for (const std::string& n : add)
      if (n != "native" && !is_named(names, n)) names.push_back(n);
  }
  std::vector<contender> contenders(names.size() + 1);
  contenders[0].requested = "native";
  contenders[0].raw = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    contenders[i + 1].requested = names[i];
    contenders[i + 1].default_for_others = test.calls().size() > 1 && names[i] != "auto";
    contenders[i + 1].opts = c.given->opts.view();
    contenders[i + 1].opts.memory = limit;
  }
  return contenders;
}

// A model's prediction for a contender's exchange.
using model_of = std::function<std::optional<seconds>(const contender&)>;

// On all ranks, or failure on all where one lacks the memory. Collective over the world.
void make_buffers(std::optional<arenas>& buffers, std::pmr::memory_resource* from, const test_case& test) {
  std::optional<std::string> fault;
  try {
    buffers.emplace(from, test.calls());
  } catch (const std::bad_alloc&) {
    fault = fmt::format("a rank lacks the memory for buffers of {} sent per rank; choose a smaller -b",
                        show_size(test.bytes_per_rank()));
  }
  if (const auto any = any_failure(fault, MPI_COMM_WORLD)) throw harness::failure(*any);
}

// The records of all contenders of a case, or of those that have run so far.
std::vector<nlohmann::json> records_of(const run_choices& c, const setting& s,
                                       const std::vector<contender>& contenders) {
  std::vector<nlohmann::json> records;
  for (const contender& one : contenders) {
    records.push_back(record(s, one));
    records.back()["sync"] = c.given->sync;
    records.back()["arrival"] = c.given->arrival;
    records.back()["per_pair_bytes"] = s.per_pair_bytes;
  }
  return records;
}

int measure_case(const run_choices& c, const test_case& test, setting s, const model_of& model, output& out,
                 progress& display) {
  std::optional<arenas> memory;
  make_buffers(memory, c.given->shared_buffers ? &shared_resource() : std::pmr::new_delete_resource(), test);
  s.bytes_per_rank = test.bytes_per_rank();
  s.memory_limit = c.memory.limit(s.bytes_per_rank);
  auto contenders = line_up(c, test, s.memory_limit);
  const std::string what = fmt::format("{} {}", s.workload, show_size(s.bytes_per_rank));
  measure_settings settings{.repetitions = c.given->repetitions,
                            .batch = c.given->batch,
                            .persistent = c.given->persistent,
                            .until = c.until,
                            .sync = c.sync,
                            .when = c.when,
                            .seed = c.given->seed};
  if (out.to_file())
    settings.so_far = [&](const measured& how, const std::vector<contender>& some) {
      s.how = how;
      out.add_partial(records_of(c, s, some));
    };
  s.how = measure(test.calls(), *memory, contenders, settings,
                  [&](const std::string& step, double part) { display.show(step.empty() ? what : step, part); });
  display.clear();
  int status = 0;
  auto records = records_of(c, s, contenders);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const contender& one = contenders[i];
    if ((one.fault && is_named(c.given->algorithms, one.requested)) || one.wrong != 0) status = failure_status;
    if (one.fault) continue;
    const auto predicted = model(one);
    records[i]["predicted_s"] = predicted ? nlohmann::json(*predicted) : nlohmann::json();
  }
  if (out.text() != nullptr && !c.given->osu) print_table(out.text(), records);
  out.add(std::move(records));
  return status;
}

// Immediately: a long recording runs for a while before there is a table.
void announce(const workloads::traffic& t, const std::string& path, output& out) {
  if (out.text() == nullptr) return;
  std::uint64_t calls = 0;
  for (const auto& call : t.calls) calls += call.repeats;
  fmt::print(out.text(), "{}: {} calls on {} ranks, {} in them when they were recorded\n", path, calls, t.ranks,
             show_seconds(busiest_rank(t).seconds));
  std::fflush(out.text());
}

sparse_run sparse_arguments(const run_arguments& a) {
  if (a.in_place || a.mpi_in_place || a.persistent || a.shared_buffers || !a.traffic.empty())
    throw usage(
        "a sparse exchange is run without --in-place, --mpi-in-place, --persistent, --shared-buffers and --traffic");
  return {a.workload, a.bytes, a.algorithms, a.memory, a.json, a.opts, a.seed, a.batch, a.repetitions, a.per_pair};
}

// Without contenders that run only for comparison.
std::vector<nlohmann::json> requested_for(const std::vector<nlohmann::json>& records, const run_arguments& a) {
  std::vector<nlohmann::json> all;
  for (const auto& r : records)
    if (r["asked"] != "native" || is_named(a.algorithms, "native") || is_named(a.algorithms, "all")) all.push_back(r);
  return all;
}

// MPI_IN_PLACE takes counts that are the same both ways. On all ranks.
void check_symmetry(const workloads::workload& w, const workloads::problem_size& size, int rank) {
  int identical = w.row(size, rank) == w.column(size, rank) ? 1 : 0;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &identical, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (identical == 0)
    throw usage(
        "MPI_IN_PLACE needs as much from each rank as goes to it: --mpi-in-place takes the workload uniform, "
        "and --in-place any");
}

int execute_run(const run_choices& c, int rank, int ranks) {
  const run_arguments& a = *c.given;
  setting s{.workload = a.workload,
            .collective = a.collective,
            .ranks = ranks,
            .in_place = a.in_place || a.mpi_in_place,
            .mpi_in_place = a.mpi_in_place,
            .persistent = a.persistent,
            .seed = a.seed};
  int status = 0;
  if (!a.traffic.empty()) {
    const auto recording = read_recording(a.traffic, ranks);
    output out(a.json, rank, a.csv);
    progress display(rank == 0);
    announce(recording, a.traffic, out);
    s.workload = a.traffic;
    s.collective = "recorded";
    const test_case test(recording, a.in_place);
    const replay_predictor model(test, a.persistent, c.memory.limit(test.bytes_per_rank()));
    status = measure_case(
        c, test, s, [&](const contender& one) { return model(one.requested, one.opts, one.raw); }, out, display);
    out.finish();
    return status;
  }
  output out(a.json, rank, a.csv);
  progress display(rank == 0);
  for (const count_t size : c.sizes) {
    const auto how = a.mpi_in_place ? buffering::in_place : a.in_place ? buffering::one_buffer : buffering::separate;
    const workloads::problem_size problem{ranks, a.per_pair || a.osu ? size * ranks : size, a.seed};
    s.per_pair_bytes = problem.bytes / ranks;
    if (a.mpi_in_place) check_symmetry(c.workload, problem, rank);
    const test_case test(c.workload, c.collective, how, problem.bytes, problem.seed);
    const predictor model(c.workload, problem, c.collective, how, a.persistent, c.memory.limit(problem.bytes));
    const auto of = [&](const contender& one) { return one.raw ? model.native() : model(one.name, one.opts); };
    status = std::max(status, measure_case(c, test, s, of, out, display));
  }
  if (a.osu && rank == 0) fmt::print("{}", osu_of(requested_for(out.records(), a)));
  out.finish();
  return status;
}

std::string run_footer() {
  return workload_help() + R"(
Times are the slowest rank's, after a barrier; the median of the repetitions and its 95% confidence interval after
Tukey's outlier filter. "ratio" is the median of the ratios to the MPI library's own call measured just before or after, in turn.
"peak mem" is the most scratch memory that taquin held on any rank. Any wrong byte makes the exit status 1.
Files of --json and --csv are replaced about once a second, so that an interrupted run keeps what it has measured:
records of a measurement that was still running are marked as partial.

Examples:
  mpirun -n 4 taquin run -b 64K                                  all algorithms, equal blocks
  mpirun -n 8 taquin run -w zipf:1.2 -b 1K..1M -a spread_out,pairwise
  mpirun -n 4 taquin run --per-pair -b 8 --persistent            plans made once, outside of the timing
  mpirun -n 4 taquin run -w random -b 50M --in-place -m 1%       in one buffer, 1% of scratch memory
  mpirun -n 4 taquin run -b 1M --mpi-in-place -a auto            beside the MPI library's own MPI_IN_PLACE
  mpirun -n 8 taquin run --collective sparse -w sparse:4 --per-pair -b 1K -a auto
                                                 beside the hand-written nbx, counts_reduced and counts_exchanged
  mpirun -n 4 taquin run --osu -b 1..1M -a auto --until 2%
  mpirun -n 4 taquin run --sync window --arrival random:50us -a auto --csv times.csv
  mpirun -n 4 taquin run --traffic recorded.json --json -        replay what an application sent)";
}

void add_exchange_flags(CLI::App& app, run_arguments& a) {
  app.option_defaults()->group("Exchange");
  auto* workload = app.add_option("-w,--workload", a.workload, "traffic pattern, see below")->capture_default_str();
  auto* bytes = app.add_option("-b,--bytes", a.bytes, "bytes that a rank sends: 64, 4K, 50M; 4K..4M doubles")
                    ->capture_default_str();
  app.add_flag("--per-pair", a.per_pair, "-b is per pair of ranks: a rank sends that times the number of ranks")
      ->needs(bytes);
  app.add_option("--traffic", a.traffic, "replay a recording on its number of ranks")
      ->excludes(workload)
      ->excludes(bytes);
  app.add_option(
         "-a,--algorithm", a.algorithms,
         "names from 'taquin list', auto, or all that serve the exchange; of a recording they do the calls that they\n"
         "serve, and auto the others")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME[,NAME...]");
  auto* one_buffer =
      app.add_flag("--in-place", a.in_place, "send and receive in one buffer (native: out of place, in a second one)");
  app.add_flag("--mpi-in-place", a.mpi_in_place, "by MPI_IN_PLACE, native as well: as much both ways for each pair")
      ->excludes(one_buffer);
  app.add_option("-m,--memory", a.memory, "scratch memory per rank: 64K, 1% of what a rank sends, unlimited")
      ->capture_default_str();
  app.add_option("--collective", a.collective,
                 "alltoall, alltoallv, alltoallw, or sparse: receivers do not know their senders")
      ->capture_default_str();
  app.add_flag("--shared-buffers", a.shared_buffers, "buffers that the ranks of a node map");
  app.add_flag("--persistent", a.persistent, "time start and wait of a plan instead of a blocking call");
  app.add_option("--seed", a.seed, "of random workloads")->capture_default_str();
}

void add_measuring_flags(CLI::App& app, run_arguments& a) {
  app.option_defaults()->group("Measuring");
  app.add_option("--reps", a.repetitions, "repetitions; default: 10 to 200, about 2 s for each algorithm")
      ->check(at_least_one());
  app.add_option("--batch", a.batch, "exchanges of a repetition; default: as many as the clock needs")
      ->check(at_least_one());
  app.add_option("--until", a.until, "repeat until each 95% interval is at most so wide, in parts of the median: 2%")
      ->type_name("PERCENT");
  app.add_option("--sync", a.sync, "how ranks begin a repetition: barrier, or window: at one moment by their clocks")
      ->capture_default_str();
  app.add_option(
         "--arrival", a.arrival,
         "which ranks enter later: together, random:50us, last:3 or last:3:1ms, sorted; times count from the last one")
      ->capture_default_str();
}

void add_output_flags(CLI::App& app, run_arguments& a) {
  app.option_defaults()->group("Output");
  app.add_flag("--osu", a.osu, "print as the OSU micro-benchmarks do: -b is per pair, times in us, Pass where right");
  app.add_option("--csv", a.csv, "write records as rows to a file, or with - to standard output")->type_name("FILE");
  add_json_option(app, a.json, "records");
}

std::function<int()> set_up_run(CLI::App& app) {
  auto a = std::make_shared<run_arguments>();
  add_exchange_flags(app, *a);
  add_measuring_flags(app, *a);
  add_output_flags(app, *a);
  add_option_flags(app, a->opts);
  app.footer(run_footer());
  return [a] {
    if (a->collective == "sparse") return run_sparse(sparse_arguments(*a));
    const run_choices c = interpret(*a);
    return in_session([&](int rank, int ranks) { return execute_run(c, rank, ranks); });
  };
}

}  // namespace

const command run_command{"run", "exchange, verify every byte, time, tabulate", set_up_run};

}  // namespace taquin::cli
