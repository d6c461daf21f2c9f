/* One alltoall of blocks that are sent from memory of several origins: malloc, MPI_Alloc_mem, a shared window. To be
 * run with and without the preloaded library. Prints microseconds of a call, the median of many, and those of the first
 * touch of a MiB.
 *
 *     bench_memory BYTES   of each block */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { calls = 201, warm = 10 };

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double touch(char *memory, size_t bytes) {
  const double begin = MPI_Wtime();
  for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  return (MPI_Wtime() - begin) * 1e6 / ((double)bytes / (1 << 20));
}

static double time_of(const char *send, char *recv, int bytes) {
  static double times[calls];
  for (int i = -warm; i < calls; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Alltoall(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, MPI_COMM_WORLD);
    double took = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 0) times[i] = took;
  }
  qsort(times, calls, sizeof(double), compare);
  return times[calls / 2] * 1e6;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = argc > 1 ? atoi(argv[1]) : 0;
  if (bytes < 1) {
    if (rank == 0) fprintf(stderr, "bench_memory: bytes of a block are missing\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t all = (size_t)ranks * (size_t)bytes;
  char *const recv = malloc(all), *const plain = malloc(all), *requested = NULL, *common = NULL;
  MPI_Win window;
  MPI_Alloc_mem((MPI_Aint)all, MPI_INFO_NULL, &requested);
  MPI_Win_allocate_shared((MPI_Aint)all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &common, &window);
  memset(recv, 0, all);
  const double touches[] = {touch(plain, all), touch(requested, all), touch(common, all)};
  for (int round = 0; round < 3; ++round) {
    const double times[] = {time_of(plain, recv, bytes), time_of(requested, recv, bytes), time_of(common, recv, bytes)};
    if (rank == 0)
      printf(
          "%d ranks, %d bytes: malloc %.1f us, MPI_Alloc_mem %.1f, window %.1f; first touch %.0f, %.0f, %.0f us a "
          "MiB\n",
          ranks, bytes, times[0], times[1], times[2], touches[0], touches[1], touches[2]);
  }
  MPI_Win_free(&window);
  MPI_Free_mem(requested);
  free(plain);
  free(recv);
  MPI_Finalize();
  return 0;
}
