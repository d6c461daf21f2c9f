/* Ranks that do not come while others agree on slots: pairs of ranks are neighbours of each other alone, and one pair
   stops after some calls. No start waits for it, and MPI_Finalize gives up on what ranks could not agree on. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int peer = rank ^ 1, weight = 1;
  MPI_Comm pairs = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &peer, &weight, 1, &peer, &weight, MPI_INFO_NULL, 0, &pairs);
  MPI_Comm_set_errhandler(pairs, MPI_ERRORS_RETURN);
  for (int call = 0; call < (rank < 2 ? 100 : 3) && !failed; ++call) {
    int out = call, in = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    failed = MPI_Ineighbor_alltoall(&out, 1, MPI_INT, &in, 1, MPI_INT, pairs, &request) != MPI_SUCCESS;
    if (!failed) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!failed && in != call) printf("rank %d: call %d is wrong\n", rank, call);
  }
  int token = 0;
  if (rank >= 2) MPI_Recv(&token, 1, MPI_INT, rank - 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d: %s\n", rank, failed ? "error" : "no error");
  fflush(stdout);
  if (rank < 2) MPI_Send(&token, 1, MPI_INT, rank + 2, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
