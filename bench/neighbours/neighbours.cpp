// Exchanges among the neighbours of a ring of distances 1, 2, …: through slots in the memory of one node, or between
// nodes by steps of all ranks, and by MPI_Neighbor_alltoallv, interleaved. With --started by slots on several nodes,
// too, and by MPI_Ineighbor_alltoallv.
// mpirun -n 8 bench_neighbours [--started] [--neighbours 4] [--reps 30] [--calls 100]
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "interpose/neighbourhood/make_neighbourhood.hpp"
#include "interpose/neighbourhood/neighbour_step.hpp"
#include "interpose/neighbourhood/neighbourhood.hpp"
#include "mpi/check.hpp"
#include "node/detect.hpp"

namespace taquin::harness {

namespace {

// Back-to-back calls after a barrier: the mean of the slowest rank.
double once(int calls, const std::function<void()>& call) {
  TAQUIN_MPI(MPI_Barrier(MPI_COMM_WORLD));
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) call();
  double time = (MPI_Wtime() - begin) / calls;
  TAQUIN_MPI(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  return time;
}

struct settings {
  int neighbours = 4;
  int reps = 30;
  int calls = 100;
  bool started = false;
};

int work(const settings& s, int rank, int ranks) {
  std::vector<int> sources;
  std::vector<int> destinations;
  for (int k = 1; k <= std::min(s.neighbours, ranks - 1); ++k) {
    destinations.push_back((rank + k) % ranks);
    sources.push_back((rank + ranks - k) % ranks);
  }
  const auto n = static_cast<int>(sources.size());
  MPI_Comm graph = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, sources.data(), MPI_UNWEIGHTED, n, destinations.data(),
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  std::vector<int> here = detail::ranks_of_node(MPI_COMM_WORLD);
  const bool slots_serve = s.started || static_cast<int>(here.size()) == ranks;
  const auto lines =
      slots_serve ? interpose::make_neighbourhood(graph, sources, destinations, std::move(here)) : nullptr;
  const auto steps = slots_serve ? nullptr : interpose::neighbour_step::make(graph, sources, destinations);
  if (lines == nullptr && steps == nullptr) {
    fmt::print(stderr, "no ranks share memory\n");
    return 1;
  }
  std::optional<interpose::neighbour_exchange> ours;
  if (lines != nullptr) ours.emplace(lines);
  if (rank == 0)
    fmt::print("{} ranks, {} neighbours\n\n| bytes | {} | {} | ratio, 95% interval |\n|---|---|---|---|\n", ranks, n,
               s.started ? "MPI_Ineighbor_alltoallv" : "MPI_Neighbor_alltoallv", lines == nullptr ? "steps" : "slots");
  for (const int bytes : {8, 64, 512, 1024, 4096, 8192, 16384, 65536}) {
    std::vector<char> send(static_cast<std::size_t>(bytes * n), 'a');
    std::vector<char> recv(send.size());
    std::vector<int> counts(static_cast<std::size_t>(n), bytes);
    std::vector<int> displs(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
    const auto side = [&](std::vector<char>& data) {
      blocks b;
      b.base = data.data();
      b.counts = count_view(counts.data());
      b.displs = count_view(displs.data());
      b.element = element::of(MPI_BYTE);
      return b;
    };
    std::vector<double> native;
    std::vector<double> slots;
    std::vector<double> ratios;
    for (int i = 0; i < s.reps; ++i) {
      native.push_back(once(s.calls, [&] {
        if (s.started) {
          MPI_Request request = MPI_REQUEST_NULL;
          TAQUIN_MPI(MPI_Ineighbor_alltoallv(send.data(), counts.data(), displs.data(), MPI_BYTE, recv.data(),
                                             counts.data(), displs.data(), MPI_BYTE, graph, &request));
          TAQUIN_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
          return;
        }
        TAQUIN_MPI(MPI_Neighbor_alltoallv(send.data(), counts.data(), displs.data(), MPI_BYTE, recv.data(),
                                          counts.data(), displs.data(), MPI_BYTE, graph));
      }));
      slots.push_back(once(s.calls, [&] {
        if (steps != nullptr) {
          steps->exchange(side(send), side(recv));
          return;
        }
        ours->start(side(send), side(recv));
        ours->wait();
      }));
      ratios.push_back(slots.back() / native.back());
    }
    const summary ratio = summarise(ratios);
    if (rank == 0)
      fmt::print("| {} | {:.2f} us | {:.2f} us | {:.2f}, {:.2f} to {:.2f} |\n", bytes, median(native) * 1e6,
                 median(slots) * 1e6, ratio.median, ratio.ci95.low, ratio.ci95.high);
  }
  TAQUIN_MPI(MPI_Comm_free(&graph));
  return 0;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("exchanges among neighbours, beside MPI_Neighbor_alltoallv");
  taquin::harness::settings s;
  app.add_option("--neighbours", s.neighbours, "of each rank");
  app.add_option("--reps", s.reps, "repetitions");
  app.add_option("--calls", s.calls, "of each repetition");
  app.add_flag("--started", s.started, "nonblocking calls");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
