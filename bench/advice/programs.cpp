// Programs whose best remedy is known, for bench/advice/run: advice_program KIND [CALLS].
//   imbalance the last rank enters every call 2 ms late
//   balanced   the same work, of all ranks
//   exchange   4 KiB for each other rank, nothing else
//   small      16 bytes for each other rank, nothing else
// Rank 0 says how long the slowest rank took, in seconds.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void work(double seconds) {
  const double until = MPI_Wtime() + seconds;
  while (MPI_Wtime() < until) {
  }
}

}  // namespace

extern "C" void the_exchange(const std::vector<char>& from, std::vector<char>& to, int bytes) {
  MPI_Alltoall(from.data(), bytes, MPI_CHAR, to.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string kind = argc > 1 ? argv[1] : "exchange";
  const int calls = argc > 2 ? std::atoi(argv[2]) : 1000;
  const int bytes = kind == "exchange" ? 1 << 12 : kind == "small" ? 16 : 1024;
  std::vector<char> from(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(ranks), 1);
  std::vector<char> to(from.size());
  constexpr double late = 2e-3;
  the_exchange(from, to, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    if (kind == "imbalance" && rank == ranks - 1) work(late);
    if (kind == "balanced") work(late / ranks);
    the_exchange(from, to, bytes);
  }
  double mine = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("seconds %.9f\n", slowest);
  MPI_Finalize();
}
