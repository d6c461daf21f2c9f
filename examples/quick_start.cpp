// Rank i sends i + 1 values to every rank, in at most 1 MiB of extra memory.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "taquin/taquin.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // rank + 1 values to each; rank i sends i + 1 to us.
  std::vector<taquin::count_t> to(ranks, rank + 1), to_at(ranks), from(ranks), from_at(ranks);
  for (int i = 0; i < ranks; ++i) {
    from[i] = i + 1;
    to_at[i] = i * (rank + 1);
    from_at[i] = i * (i + 1) / 2;
  }
  std::vector<double> send(ranks * (rank + 1), rank), recv(ranks * (ranks + 1) / 2);

  int status = 0;
  try {
    taquin::alltoallv<double>(send, to, to_at, recv, from, from_at, MPI_COMM_WORLD, {.memory = 1 << 20});
    if (rank == 0) std::printf("the last value came from rank %g\n", recv.back());
  } catch (const taquin::error& e) {  // e.collective(): every rank has it, and the data are as they were
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
