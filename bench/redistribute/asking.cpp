// How ranks find their incoming blocks: redistributions that wait, in which they use a sparse exchange, beside the same
// ones started and waited for, in which they exchange counts and then places. Interleaved.
// mpirun -n 8 bench_asking [--peers 4] [--blocks 120] [--block-bytes 16384] [--seconds 5]
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/sizes.hpp"
#include "harness/interleaved.hpp"
#include "harness/session.hpp"
#include "harness/statistics.hpp"
#include "mpi/check.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::harness {

namespace {

struct settings {
  int peers = 4;
  int blocks = 120;
  int block_bytes = 16384;
  double seconds = 5;
};

// Where this rank's blocks go.
struct places {
  std::vector<int> ranks, indices;
};

// Block i of each rank goes to place i of one of the next `peers` ranks, in turn; 0: all places are assigned at random.
places places_of(const settings& s, int rank, int ranks) {
  places mine;
  if (s.peers > 0) {
    for (int i = 0; i < s.blocks; ++i) mine.ranks.push_back((rank + 1 + i % std::min(s.peers, ranks - 1)) % ranks);
    mine.indices.resize(detail::as_size(s.blocks));
    std::iota(mine.indices.begin(), mine.indices.end(), 0);
    return mine;
  }
  std::vector<int> all(detail::as_size(ranks * s.blocks));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), std::mt19937(3));
  for (int i = 0; i < s.blocks; ++i) {
    const int place = all[detail::as_size(rank * s.blocks + i)];
    mine.ranks.push_back(place / s.blocks);
    mine.indices.push_back(place % s.blocks);
  }
  return mine;
}

int work(const settings& s, int rank, int ranks) {
  if (ranks < 2) {
    fmt::print(stderr, "it takes two ranks\n");
    return 1;
  }
  const places mine = places_of(s, rank, ranks);
  std::vector<char> data(detail::as_size(s.blocks) * detail::as_size(s.block_bytes), 'a');
  redistribution waits(data.data(), s.blocks, s.block_bytes, MPI_CHAR, MPI_COMM_WORLD);
  redistribution starts(data.data(), s.blocks, s.block_bytes, MPI_CHAR, MPI_COMM_WORLD);
  const auto timed = [&](bool started) {
    return slowest([&] {
      if (started) {
        starts.start(mine.ranks, mine.indices);
        starts.wait();
      } else {
        waits(mine.ranks, mine.indices);
      }
    });
  };
  std::vector<double> by_start;
  std::vector<double> by_wait;
  std::vector<double> ratios;
  interleave(s.seconds, 8, [&] {
    by_start.push_back(timed(true));
    by_wait.push_back(timed(false));
    ratios.push_back(by_wait.back() / by_start.back());
  });
  const summary ratio = summarise(ratios);
  if (rank == 0)
    fmt::print(
        "{} ranks, {} blocks of {} bytes, {} peers: started {:.1f} us, waiting {:.1f} us, ratio {:.2f}, {:.2f} to "
        "{:.2f}\n",
        ranks, s.blocks, s.block_bytes, s.peers == 0 ? "any" : fmt::format("{}", s.peers), median(by_start) * 1e6,
        median(by_wait) * 1e6, ratio.median, ratio.ci95.low, ratio.ci95.high);
  return 0;
}

}  // namespace

}  // namespace taquin::harness

int main(int argc, char** argv) {
  CLI::App app("redistributions that find their targets by a sparse exchange, beside those that are started");
  taquin::harness::settings s;
  app.add_option("--peers", s.peers, "ranks that each rank sends to; 0: any")->check(CLI::NonNegativeNumber);
  app.add_option("--blocks", s.blocks, "of each rank")->check(CLI::PositiveNumber);
  app.add_option("--block-bytes", s.block_bytes, "of each block")->check(CLI::PositiveNumber);
  app.add_option("--seconds", s.seconds, "to measure");
  CLI11_PARSE(app, argc, argv);
  return taquin::harness::in_session([&](int rank, int ranks) { return taquin::harness::work(s, rank, ranks); });
}
