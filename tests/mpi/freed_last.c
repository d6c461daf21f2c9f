/* Frees communicators on which it has exchanged, and ends. */
#include <mpi.h>
#include <stdio.h>

#include "taquin/taquin.h"

int main(int argc, char **argv) {
  int rank, ranks, out[64] = {0}, in[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 64) MPI_Abort(MPI_COMM_WORLD, 1);
  TAQUIN_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  if (rank == 0) puts("the end");
  for (int k = 0; k < 20; ++k) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    TAQUIN_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    MPI_Comm_free(&comm);
  }
  return MPI_Finalize();
}
