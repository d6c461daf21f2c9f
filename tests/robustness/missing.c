/* One rank never comes to a call; run with a timeout that aborts. */
#include <mpi.h>
#include <taquin/taquin.h>

int main(int argc, char **argv) {
  int rank = 0;
  int size = 0;
  int out[64] = {0};
  int in[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 64) return 1;
  TAQUIN_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  if (rank != 1) TAQUIN_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
