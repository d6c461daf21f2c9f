// pdgemr2d of libtaquin_scalapack beside ScaLAPACK's own, interleaved: gemr2d ORDER REPETITIONS [BLOCK…]
// For each block size and pair of grids: the medians of both (of the slowest rank, after a barrier), their ratio, and
// the most resident memory of any rank beyond its arrays. Every element is compared.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "harness/resident.hpp"
#include "scalapack/matrices.hpp"

namespace {

using taquin::test::blacs_grid;
using taquin::test::distribution;

struct measured {
  std::vector<double> times;
  long extra = 0;  // KiB
};

template <class Call>
void measure(measured& m, Call call) {
  const taquin::harness::resident_memory memory;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call();
  double time = MPI_Wtime() - begin;
  long extra = static_cast<long>(memory.most_more() / 1024);
  MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &extra, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  m.times.push_back(time);
  if (m.times.size() > 1) m.extra = std::max(m.extra, extra);  // the first call maps what stays
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

struct shape {
  int rows, columns;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  std::vector<int> blocks{1, 64, 1024};
  if (argc > 3) blocks.clear();
  for (int i = 3; i < argc; ++i) blocks.push_back(std::atoi(argv[i]));
  auto* const theirs = taquin::test::of_scalapack<taquin::test::gemr2d>("Cpdgemr2d");
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const int square = ranks % 2 == 0 && ranks > 2 ? 2 : 1;
  const std::vector<std::pair<shape, shape>> grids{
      {{1, ranks}, {ranks, 1}}, {{ranks, 1}, {1, ranks}}, {{square, ranks / square}, {ranks / square, square}}};
  bool right = true;
  if (rank == 0) std::printf("ranks order block from to ours_ms theirs_ms ratio ours_KiB theirs_KiB local_KiB\n");
  for (const int block : blocks)
    for (const auto& [sa, sb] : grids) {
      const blacs_grid whole(1, ranks, all);
      const blacs_grid ga(sa.rows, sa.columns, all);
      const blacs_grid gb(sb.rows, sb.columns, all);
      const distribution a(ga, n, n, block, block, 0, 0);
      const int other = block == 1 ? 1 : block / 2 * 3;
      const distribution b(gb, n, n, other, other, 0, 0);
      std::vector<double> from(a.elements);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i) + rank * 1e9;
      std::vector<double> got(b.elements, -1);
      std::vector<double> want(b.elements, -1);
      measured ours;
      measured peer;
      for (int r = 0; r < repetitions; ++r) {
        measure(ours, [&] {
          Cpdgemr2d(n, n, from.data(), 1, 1, a.descriptor.data(), got.data(), 1, 1, b.descriptor.data(),
                    whole.context());
        });
        measure(peer, [&] {
          theirs(n, n, from.data(), 1, 1, a.descriptor.data(), want.data(), 1, 1, b.descriptor.data(), whole.context());
        });
      }
      right = right && got == want;
      const double mine = median(ours.times);
      const double other_time = median(peer.times);
      if (rank == 0)
        std::printf("%d %d %d %dx%d %dx%d %.1f %.1f %.2f %ld %ld %zu\n", ranks, n, block, sa.rows, sa.columns, sb.rows,
                    sb.columns, mine * 1e3, other_time * 1e3, mine / other_time, ours.extra, peer.extra,
                    a.elements * sizeof(double) / 1024);
      std::fflush(stdout);
    }
  if (!right) std::fprintf(stderr, "rank %d: wrong elements\n", rank);
  MPI_Finalize();
  return right ? 0 : 1;
}
