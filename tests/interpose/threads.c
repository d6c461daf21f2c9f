/* Exchanges under MPI_THREAD_MULTIPLE, every value checked: threads with communicators of their own, and one thread
   that starts calls on one communicator, which others complete. */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "checks.h"

enum { most_ranks = 8, block = 40, threads = 3, at_once = 12, rounds = 40 };

typedef struct {
  int out[most_ranks * block], in[most_ranks * block], peers, number;
  MPI_Request request;
  MPI_Comm comm;
  atomic_int state;
} call;
enum state { idle, started, complete };

static int ranks;
static int value(int from, int number, int i) { return from * 1000003 + number * 101 + i; }
static int is_ring(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  OK(MPI_Topo_test(comm, &topology));
  return topology == MPI_DIST_GRAPH;
}

/* All forms in turn: those of all ranks, or of the neighbours on a ring. */
static void start(call *c, MPI_Comm comm, int number) {
  static const int counts[most_ranks] = {block, block, block, block, block, block, block, block};
  static const int at[most_ranks] = {0, block, 2 * block, 3 * block, 4 * block, 5 * block, 6 * block, 7 * block};
  const int ring = is_ring(comm);
  c->comm = comm;
  c->number = number;
  c->peers = ring ? 2 : ranks;
  for (int i = 0; i < c->peers * block; ++i) c->out[i] = value(world_rank, number, i % block);
  memset(c->in, -1, sizeof c->in);
  if (ring)
    OK(MPI_Ineighbor_alltoall(c->out, block, MPI_INT, c->in, block, MPI_INT, comm, &c->request));
  else if (number % 2 == 0)
    OK(MPI_Ialltoall(c->out, block, MPI_INT, c->in, block, MPI_INT, comm, &c->request));
  else
    OK(MPI_Ialltoallv(c->out, counts, at, MPI_INT, c->in, counts, at, MPI_INT, comm, &c->request));
}

static void check(const call *c) {
  for (int k = 0; k < c->peers; ++k) {
    const int from = c->peers == ranks && !is_ring(c->comm) ? k : (world_rank + (k == 0 ? ranks - 1 : 1)) % ranks;
    for (int i = 0; i < block; ++i) CHECK(c->in[k * block + i] == value(from, c->number, i));
  }
}

/* Several pending at a time on a communicator of the thread's own. */
static void *alone(void *mine) {
  static _Thread_local call calls[at_once];
  const MPI_Comm comm = *(MPI_Comm *)mine;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[at_once];
    MPI_Status statuses[at_once];
    for (int i = 0; i < at_once; ++i) {
      start(&calls[i], comm, round * at_once + i);
      requests[i] = calls[i].request;
    }
    if (round % 3 == 0)
      for (int i = at_once - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    else if (round % 3 == 1)
      OK(MPI_Waitall(at_once, requests, statuses));
    else
      for (int done = 0; !done;) OK(MPI_Testall(at_once, requests, &done, statuses));
    for (int i = 0; i < at_once; ++i) check(&calls[i]);
  }
  return NULL;
}

static call shared[at_once * threads];

/* Completes every call that is its own, the last of a round first. */
static void *completes(void *number) {
  const int mine = *(int *)number;
  for (int round = 0; round < rounds; ++round)
    for (int i = at_once - 1; i >= 0; --i) {
      call *c = &shared[i * threads + mine];
      while (atomic_load(&c->state) != started) sched_yield();
      if (round % 2 == 0)
        OK(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
      else
        for (int done = 0; !done;) OK(MPI_Test(&c->request, &done, MPI_STATUS_IGNORE));
      check(c);
      atomic_store(&c->state, complete);
    }
  return NULL;
}

static void started_by_one(MPI_Comm comm) {
  pthread_t others[threads];
  int numbers[threads];
  for (int i = 0; i < at_once * threads; ++i) atomic_store(&shared[i].state, complete);
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&others[t], NULL, completes, &numbers[t]) == 0);
  }
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < at_once * threads; ++i) {
      while (atomic_load(&shared[i].state) != complete) sched_yield();
      start(&shared[i], comm, round * at_once * threads + i);
      atomic_store(&shared[i].state, started);
    }
  for (int t = 0; t < threads; ++t) CHECK(pthread_join(others[t], NULL) == 0);
}

int main(int argc, char **argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks <= most_ranks);
  const int peers[2] = {(world_rank + ranks - 1) % ranks, (world_rank + 1) % ranks}, weights[2] = {1, 1};
  MPI_Comm all[threads];
  pthread_t others[threads];
  for (int t = 0; t < threads; ++t) {
    if (t == threads - 1)
      OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, weights, 2, peers, weights, MPI_INFO_NULL, 0,
                                        &all[t]));
    else
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &all[t]));
    CHECK(pthread_create(&others[t], NULL, alone, &all[t]) == 0);
  }
  for (int t = 0; t < threads; ++t) CHECK(pthread_join(others[t], NULL) == 0);
  started_by_one(all[0]);
  started_by_one(all[threads - 1]);
  for (int t = 0; t < threads; ++t) OK(MPI_Comm_free(&all[t]));
  return MPI_Finalize();
}
