/* Nonblocking exchanges among all ranks, started and waited for, under the preloaded library: served, and by the MPI
   library alone (MPI_Pcontrol), in turn.
   mpirun -n 8 env LD_PRELOAD=lib/libtaquin_interpose.so bench_nonblocking [repetitions] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { calls = 100, warm = 100, most_repetitions = 1000, most_bytes = 65536, most_ranks = 256 };

static char *send, *recv;
static int ranks, counts[most_ranks], places[most_ranks];

/* Back-to-back calls after a barrier: the mean of the slowest rank. */
static double once(int form, int bytes, int n) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < n; ++i) {
    MPI_Request request;
    if (form == 0)
      MPI_Ialltoall(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    else
      MPI_Ialltoallv(send, counts, places, MPI_BYTE, recv, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  double time = (MPI_Wtime() - begin) / n;
  MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return time;
}

static int in_order(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static double library[most_repetitions], served[most_repetitions], ratio[most_repetitions];
  int rank, repetitions = argc > 1 ? atoi(argv[1]) : 21;
  if (repetitions < 1 || repetitions > most_repetitions) repetitions = most_repetitions;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > most_ranks) MPI_Abort(MPI_COMM_WORLD, 1);
  send = calloc((size_t)ranks, most_bytes);
  recv = calloc((size_t)ranks, most_bytes);
  if (send == NULL || recv == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0)
    printf("| %d ranks, bytes | MPI_Ialltoall | served | ratio | MPI_Ialltoallv | served | ratio |\n", ranks);
  for (int bytes = 8; bytes <= most_bytes; bytes *= 2) {
    if (bytes > 8 && bytes < 64) bytes = 64;
    if (rank == 0) printf("| %d |", bytes);
    for (int k = 0; k < ranks; ++k) {
      counts[k] = bytes;
      places[k] = k * bytes;
    }
    for (int form = 0; form < 2; ++form) {
      once(form, bytes, warm);
      for (int i = 0; i < repetitions; ++i) {
        MPI_Pcontrol(0);
        library[i] = once(form, bytes, calls);
        MPI_Pcontrol(1);
        served[i] = once(form, bytes, calls);
        ratio[i] = served[i] / library[i];
      }
      qsort(library, (size_t)repetitions, sizeof *library, in_order);
      qsort(served, (size_t)repetitions, sizeof *served, in_order);
      qsort(ratio, (size_t)repetitions, sizeof *ratio, in_order);
      if (rank == 0)
        printf(" %.2f us | %.2f us | %.2f |", library[repetitions / 2] * 1e6, served[repetitions / 2] * 1e6,
               ratio[repetitions / 2]);
    }
    if (rank == 0) {
      printf("\n");
      fflush(stdout);
    }
  }
  free(send);
  free(recv);
  return MPI_Finalize();
}
