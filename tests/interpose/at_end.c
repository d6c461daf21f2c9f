/* Requests that are completed while MPI_COMM_SELF's attributes are deleted, in MPI_Finalize: a nonblocking one, and
   where there are such a persistent one, which taquin serves with TAQUIN_PERSISTENT=always. */
#include <mpi.h>
#include <stdio.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Alltoall_init MPIX_Alltoall_init
#define HAS_PERSISTENT
#elif MPI_VERSION >= 4
#define HAS_PERSISTENT
#endif

#include "checks.h"

enum { calls = 60, most_ranks = 8 };
static int out[most_ranks], in[most_ranks], kept[most_ranks], ranks, rank;
static MPI_Request request, persistent = MPI_REQUEST_NULL;

static int complete(MPI_Comm comm, int key, void *value, void *state) {
  (void)comm, (void)key, (void)value, (void)state;
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int k = 0; k < ranks; ++k) CHECK(in[k] == k * 100 + rank);
#ifdef HAS_PERSISTENT
  if (rank != 0) OK(MPI_Start(&persistent));
  OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
  for (int k = 0; k < ranks; ++k) CHECK(kept[k] == k * 100 + rank);
#endif
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
#ifdef HAS_PERSISTENT
  OK(MPI_Alltoall_init(out, 1, MPI_INT, kept, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent));
  if (rank == 0) OK(MPI_Start(&persistent)); /* the others in their functions: it is not complete before */
#endif
  return MPI_Finalize();
}
