// Random problems for a stated time or number, each compared byte for byte: see CONTRIBUTING.md.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <thread>

#include "soak/common_options.hpp"
#include "soak/watchdog.hpp"
#include "soak/worker.hpp"
#include "support/instruments.hpp"

namespace taquin::soak {

namespace {

double core_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

void print_totals(const tally& mine, double seconds, bool short_form) {
  tally sum;
  constexpr int cells = tally::kinds * (most_ranks + 1);
  MPI_Reduce(mine.problems.data(), sum.problems.data(), cells, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine.exchanges, &sum.exchanges, 7, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  const double own = core_seconds();
  double processors = 0;
  MPI_Reduce(&own, &processors, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::uint64_t problems = 0;
  std::uint64_t on_many = 0;
  std::array<std::uint64_t, most_ranks + 1> by_ranks{};
  for (const auto& kind : sum.problems)
    for (std::size_t p = 0; p < kind.size(); ++p) {
      by_ranks[p] += kind[p];
      problems += kind[p];
      on_many += p >= 5 ? kind[p] : 0;
    }
  fmt::print(
      "soak: {} problems, {} on 5 ranks or more; {} exchanges compared, {} wrong bytes; {:.0f} s, {:.0f} s of "
      "processors\n",
      problems, on_many, sum.exchanges, sum.wrong_bytes, seconds, processors);
  if (!short_form) {
    fmt::print("{:<24}", "problems by ranks");
    for (std::size_t p = 0; p < by_ranks.size(); ++p)
      if (by_ranks[p] > 0) fmt::print("{:>10}", p);
    fmt::print("\n");
    for (int kind = 0; kind < tally::kinds; ++kind) {
      fmt::print("{:<24}", tally::name(kind));
      for (std::size_t p = 0; p < by_ranks.size(); ++p)
        if (by_ranks[p] > 0) fmt::print("{:>10}", sum.problems[static_cast<std::size_t>(kind)][p]);
      fmt::print("\n");
    }
    fmt::print(
        "of the exchanges: {} in flight beside others, {} by kept plans; {} made by the MPI library as well\n"
        "problems that the algorithm does not serve: {}; limits refused: {} (both counted on each rank)\n",
        sum.in_flight, sum.kept, sum.by_library, sum.refused, sum.limited);
  }
  std::fflush(stdout);
}

namespace {

// On all ranks: a run that compares nothing, or whose counter sees nothing, proves nothing.
bool nothing_happened(const tally& mine, bool counts_messages) {
  const auto counter = test::instruments::totals()[static_cast<std::size_t>(test::instruments::kind::message_counter)];
  std::array<std::uint64_t, 2> seen{mine.exchanges, static_cast<std::uint64_t>(counter.fired)};
  MPI_Allreduce(MPI_IN_PLACE, seen.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return seen[0] == 0 || (counts_messages && seen[1] == 0);
}

int soak(const settings& s) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > most_ranks) throw std::runtime_error("too many ranks");
  all_types();
  const double begin = MPI_Wtime();
  std::deque<progress> progresses(static_cast<std::size_t>(s.threads));
  std::atomic<bool> ended = false;
  std::jthread watchdog([&] { watch_over(progresses, s.timeout, s.seed, rank, ended); });
  std::deque<MPI_Comm> comms;
  std::deque<worker> workers;
  for (int i = 0; i < s.threads; ++i) {
    MPI_Comm own = MPI_COMM_WORLD;
    if (i > 0) MPI_Comm_dup(MPI_COMM_WORLD, &own);
    comms.push_back(own);
    workers.emplace_back(own, s, static_cast<std::uint64_t>(i), progresses[static_cast<std::size_t>(i)]);
  }
  const auto work = [&](std::size_t i) {
    try {
      workers[i].run();
    } catch (const std::exception& e) {
      fmt::print(stderr, "soak: rank {}, thread {}: {}\n", rank, i, e.what());
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    progresses[i].ended = true;
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < workers.size(); ++i) others.emplace_back(work, i);
    work(0);
  }
  tally sum;
  int failures = 0;
  for (const worker& w : workers) sum.add(w.sum()), failures += w.failures();
  workers.clear();
  for (std::size_t i = 1; i < comms.size(); ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0)
    fmt::print("soak: seed {}, {} ranks, {} threads, {} failures, 0 hangs\n", s.seed, size, s.threads, failures);
  print_totals(sum, MPI_Wtime() - begin, false);
  ended = true;
  if (s.problems > 0 && nothing_happened(sum, s.in_flight)) {
    if (rank == 0) fmt::print("soak: FAILED: no exchange was compared, or no message counted\n");
    return 1;
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

}  // namespace taquin::soak

int main(int argc, char** argv) {
  taquin::soak::settings s;
  CLI::App app("Random exchanges and redistributions, each compared byte for byte.");
  taquin::soak::add_common_options(app, s, "problem");
  app.add_option("--problems", s.problems, "how many, of each thread");
  app.add_option("--seconds", s.seconds, "for how long");
  app.add_option("--status", s.status, "seconds between two lines about the state");
  auto* threads = app.add_option("--threads", s.threads, "threads with communicators of their own");
  threads->check(CLI::Range(1, 64));
  app.add_option("--simplify", s.simplified, "simplifications of every problem, by number");
  app.add_flag("--any-order", s.any_order, "plans under way are waited for in another order on each rank");
  app.add_flag("--in-flight", s.in_flight, "no more messages come unasked than options::in_flight permits")
      ->excludes(threads);
  CLI11_PARSE(app, argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, s.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  if (s.threads > 1 && provided < MPI_THREAD_MULTIPLE) {
    fmt::print("soak: the MPI library has no MPI_THREAD_MULTIPLE\n");
    s.threads = 1;
  }
  const int result = taquin::soak::soak(s);
  taquin::soak::release_types();
  MPI_Finalize();
  return result;
}
