/* regions [device | messages | come_and_go | many]: exchanges inside and outside of a region that MPI_Pcontrol switches
 * off, and, with a device's runtime loaded, with a send buffer on rank 0 that it claims; or messages point to point
 * alone; or many exchanges. All results of exchanges are checked. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { most = 32 };
static int send[most], recv[most], rank, ranks;

static void exchange_on(MPI_Comm comm) {
  for (int i = 0; i < ranks; ++i) send[i] = 100 * rank + i;
  memset(recv, -1, sizeof recv);
  MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm);
  for (int i = 0; i < ranks; ++i)
    if (recv[i] != 100 * i + rank) {
      fprintf(stderr, "rank %d got %d from %d\n", rank, recv[i], i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void exchange(void) { exchange_on(MPI_COMM_WORLD); }

/* Communicators come and go, and their handles again for others: on one rank for the next communicator of all, on the
 * other one for communicators of its own. */
static void come_and_go(void) {
  enum { between = 6 };
  for (int i = 0; i < 12; ++i) {
    MPI_Comm own[between], all;
    const int mine = i % ranks == rank ? between : 0;
    for (int n = 0; n < mine; ++n) MPI_Comm_dup(MPI_COMM_SELF, &own[n]);
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    for (int n = 0; n < 2; ++n) exchange_on(all);
    for (int n = 0; n < mine; ++n) MPI_Comm_free(&own[n]);
    MPI_Comm_free(&all);
  }
}

/* Many calls of two sizes from two places, in blocks and in turn. */
static void many(void) {
  for (int i = 0; i < 3000; ++i) {
    if (i < 1000 || i % 2 == 0)
      exchange();
    else
      MPI_Alltoall(send, 2, MPI_INT, recv, 2, MPI_INT, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (2 * ranks > most) return 1;
  if (argc > 1 && strcmp(argv[1], "device") == 0) {
    uintptr_t *begin = dlsym(RTLD_DEFAULT, "device_begin"), *end = dlsym(RTLD_DEFAULT, "device_end");
    if (begin == NULL || end == NULL) return 1;
    if (rank == 0) {
      *begin = (uintptr_t)send;
      *end = (uintptr_t)(send + most);
    }
    for (int i = 0; i < 3; ++i) exchange();
  } else if (argc > 1 && strcmp(argv[1], "messages") == 0) {
    for (int i = 0; i < 2; ++i)
      MPI_Sendrecv_replace(send, 1, MPI_INT, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i)
      MPI_Sendrecv(send, 1, MPI_INT, (rank + 1) % ranks, 0, recv, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (argc > 1 && strcmp(argv[1], "come_and_go") == 0) {
    come_and_go();
  } else if (argc > 1 && strcmp(argv[1], "many") == 0) {
    many();
  } else {
    for (int i = 0; i < 2; ++i) exchange();
    MPI_Pcontrol(0);
    for (int i = 0; i < 3; ++i) exchange();
    MPI_Pcontrol(1);
    for (int i = 0; i < 4; ++i) exchange();
  }
  return MPI_Finalize();
}
