// The hypercubic collectives measured, beside the MPI library's and beside their closed forms under a Hockney model
// that is fitted just before. mpirun -n 4 bench_patterns [--plot FILE.svg]
#include "taquin/patterns.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "harness/plot.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "schedule/collectives.hpp"
#include "simulation/calibrate.hpp"

namespace taquin::harness {

namespace {

using detail::collective;

struct subject {
  collective what;
  std::function<void(int)> ours;  // with so many ints per rank
  std::function<void(int)> theirs;
};

// Each repetition is timed after a barrier and is as long as the slowest rank's.
double once(const std::function<void(int)>& f, int count) {
  constexpr int inner = 10;
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  for (int i = 0; i < inner; ++i) f(count);
  double time = (MPI_Wtime() - begin) / inner;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return time;
}

int work(const std::string& file, int rank, int ranks) {
  const auto model = detail::calibrate(MPI_COMM_WORLD, count_t{1} << 18).model;
  hockney h = model.levels[0].hockney;
  h.tau = h.tau * model.ranks_per_core + model.wait;  // ranks that share a core take turns
  h.mu *= model.ranks_per_core;
  constexpr int most = 1 << 14;
  const auto room = static_cast<std::size_t>(most) * static_cast<std::size_t>(ranks);
  std::vector<int> send(room, 1);
  std::vector<int> recv(room);
  int* const s = send.data();
  int* const r = recv.data();
  const MPI_Comm w = MPI_COMM_WORLD;
  const std::vector<subject> subjects{
      {collective::barrier, [=](int) { patterns::barrier(w); }, [=](int) { TAQUIN_MPI(MPI_Barrier(w)); }},
      {collective::broadcast, [=](int n) { patterns::broadcast(r, n, MPI_INT, 0, w); },
       [=](int n) { TAQUIN_MPI(MPI_Bcast(r, n, MPI_INT, 0, w)); }},
      {collective::reduce, [=](int n) { patterns::reduce(s, r, n, MPI_INT, MPI_SUM, 0, w); },
       [=](int n) { TAQUIN_MPI(MPI_Reduce(s, r, n, MPI_INT, MPI_SUM, 0, w)); }},
      {collective::allreduce, [=](int n) { patterns::allreduce(s, r, n, MPI_INT, MPI_SUM, w); },
       [=](int n) { TAQUIN_MPI(MPI_Allreduce(s, r, n, MPI_INT, MPI_SUM, w)); }},
      {collective::gather, [=](int n) { patterns::gather(s, r, n, MPI_INT, 0, w); },
       [=](int n) { TAQUIN_MPI(MPI_Gather(s, n, MPI_INT, r, n, MPI_INT, 0, w)); }},
      {collective::allgather, [=](int n) { patterns::allgather(s, r, n, MPI_INT, w); },
       [=](int n) { TAQUIN_MPI(MPI_Allgather(s, n, MPI_INT, r, n, MPI_INT, w)); }},
      {collective::scatter, [=](int n) { patterns::scatter(s, r, n, MPI_INT, 0, w); },
       [=](int n) { TAQUIN_MPI(MPI_Scatter(s, n, MPI_INT, r, n, MPI_INT, 0, w)); }},
      {collective::scan, [=](int n) { patterns::scan(s, r, n, MPI_INT, MPI_SUM, w); },
       [=](int n) { TAQUIN_MPI(MPI_Scan(s, r, n, MPI_INT, MPI_SUM, w)); }}};
  if (rank == 0)
    fmt::print(
        "{} ranks, tau {:.2f} us, mu {:.3f} ns/B\n\n| collective | bytes | taquin | MPI library | closed form |\n"
        "|---|---|---|---|---|\n",
        ranks, h.tau * 1e6, h.mu * 1e9);
  drawing d{fmt::format("Hypercubic collectives, {} ranks", ranks), "bytes per rank", "time", {}};
  for (const auto& one : subjects) {
    const std::string name(detail::name_of(one.what));
    curve measured{name + " measured", {}, true};
    curve predicted{name + " closed form", {}, false};
    for (const int count : {1, 128, most}) {
      if (one.what == collective::barrier && count > 1) continue;
      std::vector<double> ours;
      std::vector<double> theirs;
      for (int i = 0; i < 9; ++i) {
        theirs.push_back(once(one.theirs, count));
        ours.push_back(once(one.ours, count));
      }
      const count_t bytes = count_t{4} * count;
      const seconds closed = detail::closed_form(one.what, ranks, bytes, h);
      measured.points.emplace_back(bytes, median(ours));
      predicted.points.emplace_back(bytes, closed);
      if (rank == 0)
        fmt::print("| {} | {} | {:.1f} us | {:.1f} us | {:.1f} us |\n", name, bytes, median(ours) * 1e6,
                   median(theirs) * 1e6, closed * 1e6);
    }
    d.curves.push_back(std::move(measured));
    d.curves.push_back(std::move(predicted));
  }
  if (rank == 0 && !file.empty()) plot(file, d);
  return 0;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("the hypercubic collectives: measured, the MPI library's, and closed forms");
  std::string file;
  app.add_option("--plot", file, "draw measured against closed forms (needs gnuplot)");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(file, rank, ranks); });
}
