/* Programs that make many communicators with few exchanges on each; every value checked. Arguments: the way in which
   communicators are made, their number, and the exchanges on each. Nonblocking ones:
   copies: duplicates of MPI_COMM_WORLD, every second one freed after its exchanges, the others at the end.
   nested: each a duplicate of the one before, which is freed while the first exchange on the duplicate is pending.
   unlike: pairs of ranks, with other partners and other numbers of calls from one round to the next, so that the
   members of a pair remember different things.
   Among neighbours:
   rings: blocking ones on rings of all ranks; nonblocking_rings: nonblocking ones. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

enum { most_ranks = 8, block = 50, many = 256 };

typedef struct {
  int out[most_ranks * block], in[most_ranks * block];
  MPI_Request request;
  int ranks, rank, number;
} call;

static int value(int from, int to, int number, int i) { return from * 1000003 + to * 10007 + number * 101 + i; }

static void start(MPI_Comm comm, call *c, int number) {
  MPI_Comm_size(comm, &c->ranks);
  MPI_Comm_rank(comm, &c->rank);
  c->number = number;
  for (int k = 0; k < c->ranks; ++k)
    for (int i = 0; i < block; ++i) c->out[k * block + i] = value(c->rank, k, number, i);
  memset(c->in, -1, sizeof c->in);
  OK(MPI_Ialltoall(c->out, block, MPI_INT, c->in, block, MPI_INT, comm, &c->request));
}

static void finish(call *c) {
  OK(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
  for (int k = 0; k < c->ranks; ++k)
    for (int i = 0; i < block; ++i) CHECK(c->in[k * block + i] == value(k, c->rank, c->number, i));
}

/* Two at a time, as in a pipeline. */
static void exchange(MPI_Comm comm, int calls) {
  static call both[2];
  for (int number = 0; number < calls; ++number) {
    start(comm, &both[number % 2], number);
    if (number > 0) finish(&both[(number + 1) % 2]);
  }
  if (calls > 0) finish(&both[(calls + 1) % 2]);
}

static void copies(int communicators, int calls) {
  MPI_Comm kept[many];
  int n = 0;
  for (int k = 0; k < communicators; ++k) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    exchange(comm, calls);
    if (k % 2 == 0)
      OK(MPI_Comm_free(&comm));
    else
      kept[n++] = comm;
  }
  while (n > 0) OK(MPI_Comm_free(&kept[--n]));
}

static void nested(int communicators, int calls) {
  MPI_Comm comm, next;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int k = 0; k < communicators; ++k) {
    static call first;
    exchange(comm, calls);
    OK(MPI_Comm_dup(comm, &next));
    start(next, &first, 0);
    OK(MPI_Comm_free(&comm));
    finish(&first);
    comm = next;
  }
  OK(MPI_Comm_free(&comm));
}

/* With an even number of ranks, from 4 on. */
static void unlike(int communicators, int calls) {
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int k = 0; k < communicators; ++k) {
    MPI_Comm comm;
    const int shifted = (world_rank + k) % ranks; /* pairs of neighbours on a ring, in two ways */
    OK(MPI_Comm_split(MPI_COMM_WORLD, shifted / 2, shifted, &comm));
    exchange(comm, shifted / 2 % 2 == 0 ? calls : 3 + k % 5);
    OK(MPI_Comm_free(&comm));
  }
}

static void rings(int communicators, int calls, int nonblocking) {
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int peers[2] = {(world_rank + ranks - 1) % ranks, (world_rank + 1) % ranks}, weights[2] = {1, 1};
  for (int k = 0; k < communicators; ++k) {
    MPI_Comm ring;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0, &ring));
    for (int number = 0; number < calls; ++number) {
      int out[2] = {value(world_rank, peers[0], number, k), value(world_rank, peers[1], number, k)}, in[2] = {-1, -1};
      MPI_Request request = MPI_REQUEST_NULL;
      if (nonblocking)
        OK(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request));
      else
        OK(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      for (int i = 0; i < 2; ++i) CHECK(in[i] == value(peers[i], world_rank, number, k));
    }
    OK(MPI_Comm_free(&ring));
  }
}

int main(int argc, char **argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  CHECK(argc == 4);
  const int communicators = atoi(argv[2]), calls = atoi(argv[3]);
  CHECK(communicators <= many);
  if (strcmp(argv[1], "copies") == 0) copies(communicators, calls);
  if (strcmp(argv[1], "nested") == 0) nested(communicators, calls);
  if (strcmp(argv[1], "unlike") == 0) unlike(communicators, calls);
  if (strcmp(argv[1], "rings") == 0) rings(communicators, calls, 0);
  if (strcmp(argv[1], "nonblocking_rings") == 0) rings(communicators, calls, 1);
  return MPI_Finalize();
}
