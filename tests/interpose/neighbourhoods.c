/* Exchanges among neighbours as a program has them: blocking, nonblocking, persistent; on a distributed graph, a grid
   and a ring in which a rank is twice a neighbour; every value checked. */
#include <mpi.h>
#include <stdlib.h>

#include "checks.h"
#include "persistent_neighbours.h"

enum { most_neighbours = 8, most_block = 30000, at_once = 12 };

typedef struct {
  int peers_in[most_neighbours], peers_out[most_neighbours], in, out;
} graph;

typedef struct {
  int send_counts[most_neighbours], send_at[most_neighbours], recv_counts[most_neighbours], recv_at[most_neighbours];
  int *send, *recv;
  MPI_Request request;
} call;

static int ranks;
static const int weights[most_neighbours] = {1, 1, 1, 1, 1, 1, 1, 1};

/* How many ints go from one rank to another in a call: most are few, some are many, some none. */
static int ints(int from, int to, int number) {
  const int kind = (from * 7 + to * 13 + number * 5) % 11;
  return kind == 0 ? 0 : kind == 1 ? most_block : kind == 2 ? 3000 : kind * 3;
}
static int value(int from, int to, int number, int i) { return from * 1000003 + to * 10007 + number * 101 + i; }

static void prepare(call *c, const graph *g, int number) {
  int sent = 0, received = 0;
  for (int k = 0; k < g->out; ++k) {
    c->send_at[k] = sent;
    sent += c->send_counts[k] = g->peers_out[k] < 0 ? 0 : ints(world_rank, g->peers_out[k], number);
  }
  for (int k = 0; k < g->in; ++k) {
    c->recv_at[k] = received;
    received += c->recv_counts[k] = g->peers_in[k] < 0 ? 0 : ints(g->peers_in[k], world_rank, number);
  }
  c->send = malloc(sizeof(int) * (size_t)(sent + 1));
  c->recv = malloc(sizeof(int) * (size_t)(received + 1));
  for (int k = 0; k < g->out; ++k)
    for (int i = 0; i < c->send_counts[k]; ++i)
      c->send[c->send_at[k] + i] = value(world_rank, g->peers_out[k], number, i);
  for (int i = 0; i <= received; ++i) c->recv[i] = -1;
}

static void check(call *c, const graph *g, int number) {
  int received = 0;
  for (int k = 0; k < g->in; ++k) {
    for (int i = 0; i < c->recv_counts[k]; ++i)
      CHECK(c->recv[c->recv_at[k] + i] == value(g->peers_in[k], world_rank, number, i));
    received += c->recv_counts[k];
  }
  CHECK(c->recv[received] == -1);
  free(c->send);
  free(c->recv);
}

static void blocking(MPI_Comm comm, const graph *g, int number) {
  call c;
  prepare(&c, g, number);
  OK(MPI_Neighbor_alltoallv(c.send, c.send_counts, c.send_at, MPI_INT, c.recv, c.recv_counts, c.recv_at, MPI_INT,
                            comm));
  check(&c, g, number);
}

/* The same with types of its own that are freed before the request is complete, and displacements in bytes. */
static void start(MPI_Comm comm, const graph *g, call *c, int number) {
  prepare(c, g, number);
  if (number % 2 == 0) {
    OK(MPI_Ineighbor_alltoallv(c->send, c->send_counts, c->send_at, MPI_INT, c->recv, c->recv_counts, c->recv_at,
                               MPI_INT, comm, &c->request));
    return;
  }
  static MPI_Aint send_at[at_once][most_neighbours], recv_at[at_once][most_neighbours];
  static MPI_Datatype types[at_once][most_neighbours];
  MPI_Datatype type;
  OK(MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &type));
  OK(MPI_Type_commit(&type));
  const int place = number % at_once;
  for (int k = 0; k < most_neighbours; ++k) {
    types[place][k] = type;
    send_at[place][k] = k < g->out ? (MPI_Aint)sizeof(int) * c->send_at[k] : 0;
    recv_at[place][k] = k < g->in ? (MPI_Aint)sizeof(int) * c->recv_at[k] : 0;
  }
  OK(MPI_Ineighbor_alltoallw(c->send, c->send_counts, send_at[place], types[place], c->recv, c->recv_counts,
                             recv_at[place], types[place], comm, &c->request));
  OK(MPI_Type_free(&type));
}

/* Several concurrent calls, completed in different ways among messages of the program's own, or after a barrier. */
static void nonblocking(MPI_Comm comm, const graph *g, int first, int how) {
  call calls[at_once];
  MPI_Request requests[at_once + 2];
  MPI_Status statuses[at_once + 2]; /* MPICH's header makes compilers doubt MPI_STATUSES_IGNORE */
  int token = world_rank, got = -1;
  for (int i = 0; i < at_once; ++i) {
    start(comm, g, &calls[i], first + i);
    requests[i] = calls[i].request;
  }
  OK(MPI_Isend(&token, 1, MPI_INT, (world_rank + 1) % ranks, 5, MPI_COMM_WORLD, &requests[at_once]));
  OK(MPI_Irecv(&got, 1, MPI_INT, (world_rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &requests[at_once + 1]));
  if (how % 2 == 1) OK(MPI_Barrier(MPI_COMM_WORLD));
  if (how == 0 || how == 1) {
    OK(MPI_Waitall(at_once + 2, requests, statuses));
  } else if (how == 2) {
    for (int left = at_once + 2; left > 0;) {
      int n = 0, which[at_once + 2];
      OK(MPI_Waitsome(at_once + 2, requests, &n, which, statuses));
      CHECK(n != MPI_UNDEFINED);
      left -= n;
    }
  } else if (how == 3) {
    for (int left = at_once + 2; left > 0; --left) {
      int which = -1;
      OK(MPI_Waitany(at_once + 2, requests, &which, MPI_STATUS_IGNORE));
      CHECK(which >= 0 && requests[which] == MPI_REQUEST_NULL);
    }
  } else {
    for (int i = at_once + 1; i >= 0; --i)
      for (int done = 0; !done;) OK(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < at_once + 2; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK(got == (world_rank + ranks - 1) % ranks);
  for (int i = 0; i < at_once; ++i) check(&calls[i], g, first + i);
}

static void persistent(MPI_Comm comm, const graph *g, int number) {
#ifdef HAVE_INIT
  call c;
  prepare(&c, g, number);
  int received = 0;
  for (int k = 0; k < g->in; ++k) received += c.recv_counts[k];
  OK(NEIGHBOR_ALLTOALLV_INIT(c.send, c.send_counts, c.send_at, MPI_INT, c.recv, c.recv_counts, c.recv_at, MPI_INT, comm,
                             MPI_INFO_NULL, &c.request));
  for (int n = 0; n < 9; ++n) {
    for (int i = 0; i < received; ++i) c.recv[i] = -1;
    OK(MPI_Start(&c.request));
    if (n % 3 == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&c.request));
  check(&c, g, number);
#else
  blocking(comm, g, number);
#endif
}

static void all_forms(MPI_Comm comm, const graph *g) {
  int number = 0;
  nonblocking(comm, g, number, 0);
  number += at_once;
  for (int i = 0; i < 10; ++i) blocking(comm, g, number++);
  for (int how = 0; how < 5; ++how, number += at_once) nonblocking(comm, g, number, how);
  persistent(comm, g, number++);
  for (int i = 0; i < 3; ++i) blocking(comm, g, number++);
  call last;
  start(comm, g, &last, number);
  OK(MPI_Comm_free(&comm)); /* pending calls continue */
  OK(MPI_Wait(&last.request, MPI_STATUS_IGNORE));
  check(&last, g, number);
}

/* Nothing but starts: what the ranks share is made while they go on. */
static void starts_alone(MPI_Comm comm, const graph *g) {
  int number = 0;
  for (int how = 0; how < 5; ++how, number += at_once) nonblocking(comm, g, number, how);
  persistent(comm, g, number++);
  for (int how = 0; how < 5; ++how, number += at_once) nonblocking(comm, g, number, how);
  OK(MPI_Comm_free(&comm));
}

/* The communicator goes while ranks agree. */
static void few_starts(MPI_Comm comm, const graph *g, int starts) {
  for (int number = 0; number < starts; ++number) {
    call c;
    start(comm, g, &c, number);
    OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
    check(&c, g, number);
  }
  OK(MPI_Comm_free(&comm));
}

static MPI_Comm graph_of(const graph *g) {
  MPI_Comm comm;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g->in, g->peers_in, weights, g->out, g->peers_out, weights,
                                    MPI_INFO_NULL, 0, &comm));
  return comm;
}

int main(int argc, char **argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  graph g = {.in = 0, .out = 0}; /* each rank sends to the next ones and to itself */
  for (int k = 0; k < 4 && k < ranks; ++k) {
    g.peers_out[g.out++] = (world_rank + k) % ranks;
    g.peers_in[g.in++] = (world_rank + ranks - k) % ranks;
  }
  all_forms(graph_of(&g), &g);
  starts_alone(graph_of(&g), &g);
  for (int starts = 3; starts < 60; starts += 8) few_starts(graph_of(&g), &g, starts);

  const int open = 0; /* a line: those at its ends have MPI_PROC_NULL */
  MPI_Comm comm;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &open, 0, &comm));
  graph line = {.in = 2, .out = 2};
  MPI_Cart_shift(comm, 0, 1, &line.peers_in[0], &line.peers_in[1]);
  for (int k = 0; k < 2; ++k) line.peers_out[k] = line.peers_in[k];
  all_forms(comm, &line);

  if (ranks > 1) { /* twice the same neighbour, which gets as much by both edges */
    graph twice = {.in = 2, .out = 2};
    for (int k = 0; k < 2; ++k) {
      twice.peers_out[k] = (world_rank + 1) % ranks;
      twice.peers_in[k] = (world_rank + ranks - 1) % ranks;
    }
    all_forms(graph_of(&twice), &twice);
    starts_alone(graph_of(&twice), &twice);
  }
  return MPI_Finalize();
}
