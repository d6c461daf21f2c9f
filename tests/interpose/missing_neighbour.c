/* A rank that does not come to an exchange among neighbours: with TAQUIN_TIMEOUT=...,fail its neighbours get an error,
   then their neighbours, and it itself when it comes late. */
#include <mpi.h>
#include <stdio.h>

static int exchange(MPI_Comm ring) {
  int out[2] = {1, 2}, in[2] = {0, 0};
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, failed = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int peers[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  const int weights[2] = {1, 1};
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0, &ring);
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  for (int call = 0; call < 60; ++call)
    if (exchange(ring) != MPI_SUCCESS) printf("rank %d: call %d fails\n", rank, call);
  if (rank == ranks - 1) MPI_Barrier(MPI_COMM_WORLD);
  /* A rank whose neighbours have both started may complete its call. */
  for (int call = 0; call < ranks && !failed; ++call) failed = exchange(ring) != MPI_SUCCESS;
  if (rank != ranks - 1) MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d: %s\n", rank, failed ? "error" : "no error");
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
