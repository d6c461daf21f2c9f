/* Nonblocking exchanges, and exchanges between the neighbours of a ring: 2 + 3 + 4 calls, every value checked. */
#include <mpi.h>
#include <stdio.h>

enum { most = 16 };
static int send[most], recv[most], counts[most], places[most], rank, ranks;

static void check(int right, const char *what) {
  if (right) return;
  fprintf(stderr, "rank %d: wrong after %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > most) return 1;
  MPI_Request request;
  for (int i = 0; i < ranks; ++i) {
    send[i] = 100 * rank + i;
    counts[i] = 1;
    places[i] = i;
  }
  for (int n = 0; n < 5; ++n) {
    for (int i = 0; i < ranks; ++i) recv[i] = -1;
    if (n < 2)
      MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, &request);
    else
      MPI_Ialltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks; ++i) check(recv[i] == 100 * i + rank, "a nonblocking exchange");
  }
  MPI_Comm ring;
  const int before = (rank + ranks - 1) % ranks, behind = (rank + 1) % ranks;
  const int weight = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &behind, &weight, MPI_INFO_NULL, 0, &ring);
  for (int n = 0; n < 4; ++n) {
    recv[0] = -1;
    if (n % 2 == 0) {
      MPI_Neighbor_alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, ring);
    } else {
      MPI_Ineighbor_alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, ring, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(recv[0] == 100 * before, "an exchange between neighbours");
  }
  MPI_Comm_free(&ring);
  return MPI_Finalize();
}
