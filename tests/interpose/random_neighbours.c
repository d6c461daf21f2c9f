/* Exchanges among neighbours at random: several graphs at a time, calls of all forms in flight on them, completed in
   another order on each rank, graphs freed with pending calls; every value checked.
     random_neighbours SEED STEPS */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "persistent_neighbours.h"

enum { graphs = 4, most_ranks = 16, most_calls = 12 };

typedef struct {
  MPI_Comm comm;
  int id, in, out, sources[most_ranks], destinations[most_ranks];
  int calls; /* on it so far */
} graph;

typedef struct {
  MPI_Request request;
  int of, number, in, sources[most_ranks], persistent, active; /* `of`: the graph's id; -1: no call */
  int send_counts[most_ranks], send_at[most_ranks], recv_counts[most_ranks], recv_at[most_ranks];
  int *send, *recv, received;
} call;

static int ranks;
static uint64_t shared_state, own_state; /* the same on all ranks; this rank's */

static unsigned next(uint64_t *state, unsigned below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33) % below;
}
static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  uint64_t h = 1469598103934665603u;
  const uint64_t all[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) h = (h ^ all[i]) * 1099511628211u, h ^= h >> 29;
  return h;
}
static int ints(int of, int number, int from, int to) {
  const uint64_t h = mixed((uint64_t)of, (uint64_t)number, (uint64_t)from, (uint64_t)to + 77);
  const unsigned kind = (unsigned)(h % 16);
  return kind == 0 ? 0 : kind == 1 ? 9000 : kind < 5 ? 1500 : (int)((h >> 8) % 60);
}
static int value(int of, int number, int from, int to, int i) {
  return (int)(mixed((uint64_t)of, (uint64_t)number, (uint64_t)from * 64 + (uint64_t)to, (uint64_t)i) & 0x7fffffff);
}

static void make_graph(graph *g, int id) {
  static const int weights[most_ranks] = {0};
  *g = (graph){.id = id};
  const unsigned share = 1 + next(&shared_state, 4);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      if (next(&shared_state, 4) >= share) continue;
      if (from == world_rank) g->destinations[g->out++] = to;
      if (to == world_rank) g->sources[g->in++] = from;
    }
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g->in, g->sources, weights, g->out, g->destinations, weights,
                                    MPI_INFO_NULL, 0, &g->comm));
}

static void fill(call *c, const graph *g, int number) {
  c->number = number;
  for (int k = 0; k < g->out; ++k)
    for (int i = 0; i < c->send_counts[k]; ++i)
      c->send[c->send_at[k] + i] = value(g->id, number, world_rank, g->destinations[k], i);
  memset(c->recv, 0xff, sizeof(int) * (size_t)(c->received + 1));
}

/* A persistent call has the sizes of its first number in every start. */
static void prepare(call *c, graph *g) {
  int sent = 0;
  *c = (call){.of = g->id, .in = g->in, .request = MPI_REQUEST_NULL};
  memcpy(c->sources, g->sources, sizeof c->sources);
  for (int k = 0; k < g->out; ++k) {
    c->send_at[k] = sent;
    sent += c->send_counts[k] = ints(g->id, g->calls, world_rank, g->destinations[k]);
  }
  for (int k = 0; k < g->in; ++k) {
    c->recv_at[k] = c->received;
    c->received += c->recv_counts[k] = ints(g->id, g->calls, g->sources[k], world_rank);
  }
  c->send = malloc(sizeof(int) * (size_t)(sent + 1));
  c->recv = malloc(sizeof(int) * (size_t)(c->received + 1));
  fill(c, g, g->calls++);
}

static void check(const call *c) {
  for (int k = 0; k < c->in; ++k)
    for (int i = 0; i < c->recv_counts[k]; ++i)
      CHECK(c->recv[c->recv_at[k] + i] == value(c->of, c->number, c->sources[k], world_rank, i));
  CHECK(c->recv[c->received] == -1);
}

static void drop(call *c) {
  if (c->of < 0) return;
  free(c->send);
  free(c->recv);
  c->of = -1;
}

static void complete(call *c) {
  if (c->of < 0 || !c->active) return;
  if (next(&own_state, 2) == 0) {
    OK(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
  } else {
    for (int done = 0; !done;) OK(MPI_Test(&c->request, &done, MPI_STATUS_IGNORE));
  }
  check(c);
  c->active = 0;
  if (!c->persistent) drop(c);
}

static void end(call *c) {
  complete(c);
  if (c->of >= 0) OK(MPI_Request_free(&c->request));
  drop(c);
}

int main(int argc, char **argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 3 && ranks <= most_ranks);
  shared_state = strtoull(argv[1], NULL, 10);
  own_state = shared_state * 31 + (uint64_t)world_rank;
  graph all[graphs];
  static call calls[graphs][most_calls];
  int made = 0;
  for (int g = 0; g < graphs; ++g) {
    make_graph(&all[g], made++);
    for (int k = 0; k < most_calls; ++k) calls[g][k].of = -1;
  }
  for (int step = atoi(argv[2]); step > 0; --step) {
    const unsigned at = next(&shared_state, graphs), slot = next(&shared_state, most_calls);
    const unsigned what = next(&shared_state, 200);
    graph *g = &all[at];
    call *c = &calls[at][slot];
    if (what < 1) { /* pending calls continue */
      OK(MPI_Comm_free(&g->comm));
      for (int k = 0; k < most_calls; ++k) end(&calls[at][k]);
      make_graph(g, made++);
    } else if (what < 5) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
    } else if (what < 15) {
      call b;
      prepare(&b, g);
      OK(MPI_Neighbor_alltoallv(b.send, b.send_counts, b.send_at, MPI_INT, b.recv, b.recv_counts, b.recv_at, MPI_INT,
                                g->comm));
      check(&b);
      drop(&b);
    } else if (what < 60) { /* on this rank alone */
      complete(&calls[next(&own_state, graphs)][next(&own_state, most_calls)]);
    } else {
      complete(c);
      if (c->of < 0) {
        prepare(c, g);
#ifdef HAVE_INIT
        c->persistent = slot < 2;
#endif
        if (!c->persistent) {
          OK(MPI_Ineighbor_alltoallv(c->send, c->send_counts, c->send_at, MPI_INT, c->recv, c->recv_counts, c->recv_at,
                                     MPI_INT, g->comm, &c->request));
          c->active = 1;
          continue;
        }
#ifdef HAVE_INIT
        OK(NEIGHBOR_ALLTOALLV_INIT(c->send, c->send_counts, c->send_at, MPI_INT, c->recv, c->recv_counts, c->recv_at,
                                   MPI_INT, g->comm, MPI_INFO_NULL, &c->request));
#endif
      } else {
        fill(c, g, g->calls++);
      }
      OK(MPI_Start(&c->request));
      c->active = 1;
    }
  }
  for (int g = 0; g < graphs; ++g) {
    for (int k = 0; k < most_calls; ++k) end(&calls[g][k]);
    OK(MPI_Comm_free(&all[g].comm));
  }
  return MPI_Finalize();
}
