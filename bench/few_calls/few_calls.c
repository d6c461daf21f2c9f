/* few_calls CALLS COMMUNICATORS: microseconds of the first CALLS exchanges on a new communicator, 64 bytes a pair: the
 * slowest rank's, median over so many communicators. On MPI alone, to be run as it is and with taquin preloaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { bytes = 64 };

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int ranks, rank;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) return 1;
  const int calls = atoi(argv[1]), communicators = atoi(argv[2]);
  char *send = calloc((size_t)ranks, bytes), *recv = calloc((size_t)ranks, bytes);
  int *counts = malloc(sizeof(int) * (size_t)ranks), *displs = malloc(sizeof(int) * (size_t)ranks);
  double *times = malloc(sizeof(double) * (size_t)communicators);
  for (int i = 0; i < ranks; ++i) {
    counts[i] = bytes;
    displs[i] = i * bytes;
  }
  for (int n = 0; n < communicators; ++n) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) MPI_Alltoallv(send, counts, displs, MPI_BYTE, recv, counts, displs, MPI_BYTE, comm);
    const double own = MPI_Wtime() - begin;
    MPI_Allreduce(&own, &times[n], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
  }
  qsort(times, (size_t)communicators, sizeof *times, by_size);
  if (rank == 0) printf("%.2f\n", 1e6 * times[communicators / 2]);
  free(send);
  free(recv);
  free(counts);
  free(displs);
  free(times);
  return MPI_Finalize();
}
