/* A request that is completed while MPI_COMM_SELF's attributes are deleted, in MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>

#include "checks.h"

enum { calls = 60, most_ranks = 8 };
static int out[most_ranks], in[most_ranks], ranks, rank;
static MPI_Request request;

static int complete(MPI_Comm comm, int key, void *value, void *state) {
  (void)comm, (void)key, (void)value, (void)state;
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int k = 0; k < ranks; ++k) CHECK(in[k] == k * 100 + rank);
  OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD));
  if (rank == 0) printf("completed\n");
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  int key = MPI_KEYVAL_INVALID;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  world_rank = rank;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, complete, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  for (int k = 0; k < ranks; ++k) out[k] = rank * 100 + k;
  for (int call = 0; call < calls; ++call) {
    OK(MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request));
    if (call + 1 < calls) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  return MPI_Finalize();
}
