// Rank i sends i + 1 values to every rank, in at most 1 MiB of scratch memory.
#include <cstdio>
#include <vector>

#include "taquin/taquin.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<double> send(ranks * (rank + 1), rank);
  const std::vector<int> counts(ranks, rank + 1);  // values for each rank
  const auto received = taquin::alltoallv(send, counts, MPI_COMM_WORLD, {.memory = 1 << 20});
  if (rank == 0) std::printf("the last value came from rank %g\n", received.data.back());
  MPI_Finalize();
}
