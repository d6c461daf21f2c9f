/* many_calls N [turns]: N calls of MPI_Alltoall with 8 bytes a pair; with `turns` each other one has none. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double *send = calloc((size_t)ranks, sizeof *send), *recv = calloc((size_t)ranks, sizeof *recv);
  const int n = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < n; ++i) {
    const int count = argc > 2 ? i % 2 : 1;
    MPI_Alltoall(send, count, MPI_DOUBLE, recv, count, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  free(send);
  free(recv);
  return MPI_Finalize();
}
