/* The same as quick_start.cpp with the C API, for one value to each rank, as a plan that runs twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "taquin/taquin.h"

int main(int argc, char **argv) {
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  TAQUIN_Plan plan;
  double *send, *recv;
  int rank, ranks, i, turn;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  send = malloc(sizeof(double) * (size_t)ranks);
  recv = malloc(sizeof(double) * (size_t)ranks);
  if (send == NULL || recv == NULL) MPI_Abort(MPI_COMM_WORLD, 1);

  options.memory = 1 << 20;
  TAQUIN_Comm_set_options(MPI_COMM_WORLD, &options);
  TAQUIN_Alltoall_init(send, 1, MPI_DOUBLE, recv, 1, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
  for (turn = 0; turn < 2; ++turn) {
    for (i = 0; i < ranks; ++i) send[i] = rank + 0.5 * turn;
    TAQUIN_Start(plan);
    TAQUIN_Wait(plan);
    if (rank == 0) printf("turn %d: the last value came from rank %g\n", turn, recv[ranks - 1] - 0.5 * turn);
  }
  TAQUIN_Plan_free(&plan);

  free(send);
  free(recv);
  MPI_Finalize();
  return 0;
}
