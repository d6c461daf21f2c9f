// A thousand blocking calls whose sizes change at random places, by the MPI library, by `auto`, and by one algorithm:
// total times, three programs of them each. Run it between hosts:
//   testbed/hosts with 4 1gbit testbed/hosts openmpi 1,4,2,8 build/release/bin/bench_changing_sizes
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <random>
#include <string_view>
#include <vector>

#include "taquin/taquin.hpp"

namespace {

constexpr int calls = 1000;
constexpr int small_block = 64;
constexpr int large_block = 16384;
constexpr int mean_run = 40;  // consecutive calls of one size, on average

// `algorithm` empty: the MPI library's own call.
double seconds_of(std::string_view algorithm, unsigned program, MPI_Comm comm) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<char> send(p * large_block);
  std::vector<char> recv(send.size());
  std::vector<int> counts(p);
  std::vector<int> displs(p);
  const taquin::count_view count(counts.data());
  const taquin::count_view displ(displs.data());
  std::mt19937 random(program);
  bool small = true;
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  for (int call = 0; call < calls; ++call) {
    if (random() % mean_run == 0) small = !small;
    for (std::size_t i = 0; i < p; ++i) {
      counts[i] = small ? small_block : large_block;
      displs[i] = static_cast<int>(i) * counts[i];
    }
    if (algorithm.empty())
      MPI_Alltoallv(send.data(), counts.data(), displs.data(), MPI_CHAR, recv.data(), counts.data(), displs.data(),
                    MPI_CHAR, comm);
    else
      taquin::run(
          taquin::exchange::alltoallv(send.data(), count, displ, MPI_CHAR, recv.data(), count, displ, MPI_CHAR, comm),
          {.algorithm = algorithm});
  }
  MPI_Barrier(comm);
  return MPI_Wtime() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (unsigned program = 1; program <= 3; ++program) {
    const double library = seconds_of({}, program, MPI_COMM_WORLD);
    if (rank == 0) std::printf("program %u, MPI library %.3f s", program, library);
    for (const char* algorithm : {"auto", "node_aggregated", "spread_out"}) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      const double seconds = seconds_of(algorithm, program, comm);
      MPI_Comm_free(&comm);
      if (rank == 0) std::printf(", %s %.2f of it", algorithm, seconds / library);
    }
    if (rank == 0) std::printf("\n");
  }
  MPI_Finalize();
}
