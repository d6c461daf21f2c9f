/* regions [device | messages]: exchanges inside and outside of a region that MPI_Pcontrol switches off, and, with a device's
 * runtime loaded, with a send buffer on rank 0 that it claims; or messages point to point alone. All results of
 * exchanges are checked. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { most = 16 };
static int send[most], recv[most], rank, ranks;

static void exchange(void) {
  for (int i = 0; i < ranks; ++i) send[i] = 100 * rank + i;
  memset(recv, -1, sizeof recv);
  MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i)
    if (recv[i] != 100 * i + rank) {
      fprintf(stderr, "rank %d got %d from %d\n", rank, recv[i], i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > most) return 1;
  if (argc > 1 && strcmp(argv[1], "device") == 0) {
    uintptr_t *begin = dlsym(RTLD_DEFAULT, "device_begin"), *end = dlsym(RTLD_DEFAULT, "device_end");
    if (begin == NULL || end == NULL) return 1;
    if (rank == 0) {
      *begin = (uintptr_t)send;
      *end = (uintptr_t)(send + most);
    }
    for (int i = 0; i < 3; ++i) exchange();
  } else if (argc > 1 && strcmp(argv[1], "messages") == 0) {
    for (int i = 0; i < 5; ++i)
      MPI_Sendrecv(send, 1, MPI_INT, (rank + 1) % ranks, 0, recv, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < 2; ++i) exchange();
    MPI_Pcontrol(0);
    for (int i = 0; i < 3; ++i) exchange();
    MPI_Pcontrol(1);
    for (int i = 0; i < 4; ++i) exchange();
  }
  return MPI_Finalize();
}
