/* An MPI program that knows nothing of taquin: all three calls, in place, on several communicators, with error
 * handlers. It checks every value that it receives. expected_traffic.cpp knows what it sends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

static int *ints(int n) {
  int *a = calloc((size_t)n + 1, sizeof *a);
  if (a == NULL) abort();
  return a;
}

static int value(int from, int to, int i) { return 10000 * from + 100 * to + i; }

__attribute__((noinline, noclone)) static void uniform(MPI_Comm comm, int count, int in_place) {
  int rank, ranks;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &ranks));
  int *send = ints(ranks * count), *recv = ints(ranks * count);
  for (int j = 0; j < ranks; ++j)
    for (int i = 0; i < count; ++i) send[j * count + i] = value(rank, j, i);
  if (in_place) {
    memcpy(recv, send, sizeof *recv * (size_t)(ranks * count));
    OK(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, recv, count, MPI_INT, comm));
  } else {
    OK(MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, comm));
  }
  for (int j = 0; j < ranks; ++j)
    for (int i = 0; i < count; ++i) CHECK(recv[j * count + i] == value(j, rank, i));
  free(send);
  free(recv);
}

typedef int (*counter)(int from, int to);
static int irregular(int from, int to) { return (7 * from + 3 * to) % 5; }
static int symmetric(int from, int to) { return (from + to) % 4; }
static int changing;
static int first_changes(int from, int to) { return from == 0 ? to + 1 + changing : 2; }

/* Blocks lie backwards, with one element between them. */
__attribute__((noinline, noclone)) static void vector(MPI_Comm comm, counter count, int in_place) {
  int rank, ranks, sends = 0, recvs = 0;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &ranks));
  int *sc = ints(ranks), *sd = ints(ranks), *rc = ints(ranks), *rd = ints(ranks);
  for (int j = ranks - 1; j >= 0; --j) {
    sd[j] = sends;
    rd[j] = recvs;
    sends += (sc[j] = count(rank, j)) + 1;
    recvs += (rc[j] = count(j, rank)) + 1;
  }
  int *send = ints(sends), *recv = ints(recvs);
  memset(recv, -1, sizeof *recv * (size_t)recvs);
  for (int j = 0; j < ranks; ++j)
    for (int i = 0; i < sc[j]; ++i) (in_place ? recv : send)[sd[j] + i] = value(rank, j, i);
  OK(MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, sc, sd, MPI_INT, recv, rc, rd, MPI_INT, comm));
  for (int j = 0; j < ranks; ++j) {
    for (int i = 0; i < rc[j]; ++i) CHECK(recv[rd[j] + i] == value(j, rank, i));
    CHECK(recv[rd[j] + rc[j]] == -1);
  }
  free(sc), free(sd), free(rc), free(rd), free(send), free(recv);
}

/* Ints between ranks of even distance, doubles between the others. */
static void typed(MPI_Comm comm) {
  int rank, ranks;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &ranks));
  int *counts = ints(ranks), *displs = ints(ranks);
  double *send = calloc((size_t)ranks * 4, sizeof *send), *recv = calloc((size_t)ranks * 4, sizeof *recv);
  MPI_Datatype *types = malloc((size_t)ranks * sizeof *types);
  CHECK(send != NULL && recv != NULL && types != NULL);
  for (int j = 0; j < ranks; ++j) {
    counts[j] = 3;
    displs[j] = 32 * j;
    types[j] = (rank + j) % 2 ? MPI_DOUBLE : MPI_INT;
    for (int i = 0; i < 3; ++i) {
      if (types[j] == MPI_DOUBLE)
        send[4 * j + i] = value(rank, j, i);
      else
        ((int *)(send + 4 * j))[i] = value(rank, j, i);
    }
  }
  OK(MPI_Alltoallw(send, counts, displs, types, recv, counts, displs, types, comm));
  for (int j = 0; j < ranks; ++j)
    for (int i = 0; i < 3; ++i) {
      const int got = types[j] == MPI_DOUBLE ? (int)recv[4 * j + i] : ((int *)(recv + 4 * j))[i];
      CHECK(got == value(j, rank, i));
    }
  free(counts), free(displs), free(send), free(recv), free(types);
}

static int handled;
static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  handled = *code;
}

static void errors(void) {
  MPI_Comm comm;
  MPI_Errhandler own;
  int ranks;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_size(comm, &ranks));
  int *counts = ints(ranks), *zeros = ints(ranks), *data = ints(ranks);
  counts[ranks - 1] = -1;
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK(class_of(MPI_Alltoallv(data, counts, zeros, MPI_INT, data + 1, zeros, zeros, MPI_INT, comm)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Alltoall(data, -1, MPI_INT, data + 1, -1, MPI_INT, comm)) == MPI_ERR_COUNT);
  OK(MPI_Comm_create_errhandler(handler, &own));
  OK(MPI_Comm_set_errhandler(comm, own));
  const int code = MPI_Alltoallv(data, counts, zeros, MPI_INT, data + 1, zeros, zeros, MPI_INT, comm);
  CHECK(class_of(handled) == MPI_ERR_COUNT);
  CHECK(code == handled || code == MPI_SUCCESS); /* the latter: MPICH 5, after a handler that returns */
  OK(MPI_Errhandler_free(&own));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(class_of(MPI_Alltoall(data, 1, MPI_INT, data + 1, 1, MPI_INT, MPI_COMM_NULL)) == MPI_ERR_COMM);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  free(counts), free(zeros), free(data);
}

/* Rank 0 expects less than rank 1 sends: an error of rank 0 alone, after which all go on. */
static int too_short(void) {
  int sent[4] = {1, 2, 3, 4}, received[4] = {-1, -1, -1, -1}, all = 0;
  int out[2] = {0, 0}, in[2] = {0, 0}, zeros[2] = {0, 0};
  if (world_rank == 1) out[0] = 4;
  if (world_rank == 0) in[1] = 1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int code = MPI_Alltoallv(sent, out, zeros, MPI_INT, received, in, zeros, MPI_INT, MPI_COMM_WORLD);
  if (world_rank == 0) CHECK(class_of(code) == MPI_ERR_TRUNCATE);
  for (int i = 1; i < 4; ++i) CHECK(received[i] == -1);
  int mine = world_rank + 1;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(all == 3);
  MPI_Finalize();
  return 0;
}

/* MPICH says so without the library as well. */
static int one_buffer(void) {
  int data[2] = {1, 2};
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(class_of(MPI_Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
  OK(MPI_Alltoall(data, 0, MPI_INT, data, 0, MPI_INT, MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}

/* Each half of the world sends its world ranks to the other half. */
static void between_groups(int ranks) {
  MPI_Comm half, inter;
  const int low = world_rank < ranks / 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 0, &inter));
  const int others = low ? ranks - ranks / 2 : ranks / 2;
  int *send = ints(others), *recv = ints(others);
  for (int j = 0; j < others; ++j) send[j] = world_rank;
  OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, inter));
  for (int j = 0; j < others; ++j) CHECK(recv[j] == (low ? ranks / 2 : 0) + j);
  free(send), free(recv);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv) {
  int ranks;
  MPI_Comm parity, copy;
  if (argc > 1 && strcmp(argv[1], "before_init") == 0)
    return MPI_Alltoall(&ranks, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && strcmp(argv[1], "too_short") == 0) return too_short();
  if (argc > 1 && strcmp(argv[1], "one_buffer") == 0) return one_buffer();
  for (int i = 0; i < 5; ++i) uniform(MPI_COMM_WORLD, 3, 0);
  uniform(MPI_COMM_WORLD, 2, 1);
  vector(MPI_COMM_WORLD, irregular, 0);
  vector(MPI_COMM_WORLD, irregular, 0);
  vector(MPI_COMM_WORLD, symmetric, 1);
  typed(MPI_COMM_WORLD);
  errors();
  if (ranks > 1) between_groups(ranks);

  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &parity)); /* backwards */
  for (int i = 0; i < 2; ++i) {
    vector(parity, irregular, 0);
    uniform(MPI_COMM_WORLD, 1, 0);
  }
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_free(&parity));
  uniform(copy, 1, 0); /* to the record the same communicator as the world */
  OK(MPI_Comm_free(&copy));

  for (int i = 0; i < 4; ++i) { /* only rank 0 sees a change in the middle */
    changing = i / 2;
    vector(MPI_COMM_WORLD, first_changes, 0);
  }
  if (argc > 1 && strcmp(argv[1], "status") == 0) {
    MPI_Finalize();
    return 3;
  }
  MPI_Finalize();
  return 0;
}
