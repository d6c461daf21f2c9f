/* Processes of two jobs in one communicator: those that were started, and those that they have spawned, with the
   library or without it as the argument says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { calls = 60, most_ranks = 16 };

static void exchange(MPI_Comm comm) {
  int rank, ranks, out[most_ranks], in[most_ranks];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int peers[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks}, weights[2] = {1, 1};
  MPI_Comm ring;
  MPI_Request request;
  OK(MPI_Dist_graph_create_adjacent(comm, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0, &ring));
  for (int call = 0; call < calls; ++call) {
    for (int form = 0; form < 5; ++form) {
      for (int k = 0; k < ranks; ++k) out[k] = rank * 100 + (form > 2 ? peers[k % 2] : k), in[k] = -1;
      if (form == 0) OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
      if (form == 1) {
        OK(MPI_Ialltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
      if (form == 2) {
        memcpy(in, out, sizeof in);
        OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm));
      }
      if (form == 3) OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
      if (form == 4) {
        OK(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
      for (int k = 0; k < (form > 2 ? 2 : ranks); ++k) CHECK(in[k] == (form > 2 ? peers[k] : k) * 100 + rank);
    }
  }
  OK(MPI_Comm_free(&ring));
}

int main(int argc, char **argv) {
  MPI_Comm parent, both, merged;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  OK(MPI_Comm_get_parent(&parent));
  const int spawned = parent != MPI_COMM_NULL;
  exchange(MPI_COMM_WORLD);
  if (!spawned) {
    const int with = strcmp(argv[1], "with") == 0;
    char *arguments[] = {with ? "A=1" : "-uLD_PRELOAD", argv[0], NULL};
    OK(MPI_Comm_spawn("env", arguments, atoi(argv[2]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both, MPI_ERRCODES_IGNORE));
  } else {
    both = parent;
  }
  OK(MPI_Intercomm_merge(both, spawned, &merged));
  exchange(merged);
  MPI_Comm again;
  OK(MPI_Comm_dup(merged, &again));
  exchange(again);
  exchange(MPI_COMM_WORLD);
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&both));
  if (!spawned && world_rank == 0) printf("merged\n");
  return MPI_Finalize();
}
