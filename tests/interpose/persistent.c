/* persistent [WHAT]: persistent exchanges, started and completed in every way that MPI has, mixed with other requests.
 * Every value is checked. WHAT is one of the functions at the end; without it all of them run but `errors`, in which a
 * served program does what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#endif
#include <pthread.h>

#include "checks.h"

enum { most = 8, block = 5, kinds = 3 };
static int served;          /* by a plan, at every start */
static MPI_Status *ignored; /* a variable, because MPICH's header warns of the constant in its place */

/* One exchange of each kind; `block` ints for each rank, whose values contain sender, receiver, call and time. */
struct exchange {
  MPI_Comm comm;
  int rank, ranks, kind, serial;
  int send[most * block], recv[most * block];
  int counts[most], places[most], offsets[most];
  MPI_Datatype types[most];
  MPI_Request request;
};

static int value(int from, int to, int kind, int serial) { return from + 10 * to + 100 * kind + 1000 * serial; }

__attribute__((noinline, noclone)) static void make(struct exchange *x, MPI_Comm comm, int kind) {
  memset(x, 0, sizeof *x);
  x->comm = comm;
  x->kind = kind;
  OK(MPI_Comm_rank(comm, &x->rank));
  OK(MPI_Comm_size(comm, &x->ranks));
  for (int i = 0; i < x->ranks; ++i) {
    x->counts[i] = block;
    x->places[i] = block * i;
    x->offsets[i] = (int)sizeof(int) * block * i;
    x->types[i] = MPI_INT;
  }
  if (kind == 0)
    OK(MPI_Alltoall_init(x->send, block, MPI_INT, x->recv, block, MPI_INT, comm, MPI_INFO_NULL, &x->request));
  else if (kind == 1)
    OK(MPI_Alltoallv_init(x->send, x->counts, x->places, MPI_INT, x->recv, x->counts, x->places, MPI_INT, comm,
                          MPI_INFO_NULL, &x->request));
  else
    OK(MPI_Alltoallw_init(x->send, x->counts, x->offsets, x->types, x->recv, x->counts, x->offsets, x->types, comm,
                          MPI_INFO_NULL, &x->request));
}

static void fill(struct exchange *x) {
  ++x->serial;
  for (int i = 0; i < x->ranks * block; ++i) {
    x->send[i] = value(x->rank, i / block, x->kind, x->serial);
    x->recv[i] = -1;
  }
}

static void check(const struct exchange *x) {
  for (int i = 0; i < x->ranks * block; ++i) CHECK(x->recv[i] == value(i / block, x->rank, x->kind, x->serial));
  CHECK(x->request != MPI_REQUEST_NULL);
}

/* MPI leaves open what else the status of a collective operation holds. */
static void check_status(MPI_Status *status) {
  if (!served) return;
  int count = -1, cancelled = -1;
  OK(MPI_Get_count(status, MPI_INT, &count));
  OK(MPI_Test_cancelled(status, &cancelled));
  CHECK(count == 0 && cancelled == 0);
}

#if MPI_VERSION >= 5 /* whose standard ABI is without Fortran */
#define AS_NUMBER_AND_BACK(request) MPI_Request_fromint(MPI_Request_toint(request))
#else
#define AS_NUMBER_AND_BACK(request) MPI_Request_f2c(MPI_Request_c2f(request))
#endif

/* One after the other, by MPI_Wait, MPI_Test and MPI_Request_get_status in turn. */
static void one_by_one(void) {
  struct exchange x;
  for (int kind = 0; kind < kinds; ++kind) {
    make(&x, MPI_COMM_WORLD, kind);
    OK(MPI_Wait(&x.request, MPI_STATUS_IGNORE)); /* inactive */
    for (int n = 0; n < 18; ++n) {
      MPI_Status status;
      int flag = 0;
      fill(&x);
      OK(MPI_Start(&x.request));
      if (n % 3 == 0) {
        OK(MPI_Wait(&x.request, &status));
      } else if (n % 3 == 1) {
        while (!flag) OK(MPI_Test(&x.request, &flag, &status));
      } else {
        while (!flag) OK(MPI_Request_get_status(x.request, &flag, &status));
        OK(MPI_Wait(&x.request, n % 2 ? &status : MPI_STATUS_IGNORE));
      }
      if (n % 3 != 2) check_status(&status);
      check(&x);
    }
    OK(MPI_Test(&x.request, &(int){0}, MPI_STATUS_IGNORE));
    x.request = AS_NUMBER_AND_BACK(x.request);
    OK(MPI_Request_free(&x.request));
    CHECK(x.request == MPI_REQUEST_NULL);
  }
}

/* As many starts as it takes to find the faster library. */
static void seven_starts(void) {
  struct exchange x;
  make(&x, MPI_COMM_WORLD, 1);
  for (int n = 0; n < 7; ++n) {
    fill(&x);
    OK(MPI_Start(&x.request));
    OK(MPI_Wait(&x.request, MPI_STATUS_IGNORE));
    check(&x);
  }
  OK(MPI_Request_free(&x.request));
}

/* Arrays of: two active exchanges, one that is inactive, a message each way, a null request. */
/* MPICH 4.0 waits for ever for inactive ones of its own. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define INACTIVE(request) MPI_REQUEST_NULL
#else
#define INACTIVE(request) (request)
#endif
enum { in_array = 6 };
struct mixed {
  struct exchange active[2], inactive;
  int out, in;
  MPI_Request all[in_array];
};

static void start_mixed(struct mixed *m) {
  const int next = (world_rank + 1) % m->active[0].ranks;
  const int before = (world_rank + m->active[0].ranks - 1) % m->active[0].ranks;
  for (int i = 0; i < 2; ++i) fill(&m->active[i]);
  m->out = 7 * world_rank + m->active[0].serial;
  m->in = -1;
  m->all[0] = m->active[0].request;
  m->all[1] = MPI_REQUEST_NULL;
  m->all[4] = m->active[1].request;
  m->all[3] = INACTIVE(m->inactive.request);
  MPI_Request both[2] = {m->all[0], m->all[4]};
  OK(MPI_Startall(2, both));
  OK(MPI_Irecv(&m->in, 1, MPI_INT, before, 9, MPI_COMM_WORLD, &m->all[5]));
  OK(MPI_Isend(&m->out, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &m->all[2]));
}

static void check_mixed(struct mixed *m) {
  const int before = (world_rank + m->active[0].ranks - 1) % m->active[0].ranks;
  for (int i = 0; i < 2; ++i) check(&m->active[i]);
  CHECK(m->in == 7 * before + m->active[0].serial);
  CHECK(m->all[0] == m->active[0].request && m->all[4] == m->active[1].request);
  CHECK(m->all[3] == INACTIVE(m->inactive.request) && m->all[2] == MPI_REQUEST_NULL && m->all[5] == MPI_REQUEST_NULL);
}

static void arrays(void) {
  static struct mixed m;
  MPI_Status statuses[in_array];
  int indices[in_array], index, count, flag;
  make(&m.active[0], MPI_COMM_WORLD, 0);
  make(&m.active[1], MPI_COMM_WORLD, 1);
  make(&m.inactive, MPI_COMM_WORLD, 2);
  for (int n = 0; n < 24; ++n) {
    MPI_Status *const reported = n % 2 ? statuses : ignored;
    int seen[in_array] = {0}, done = 0;
    start_mixed(&m);
    switch (n / 2 % 6) {
      case 0:
        OK(MPI_Waitall(in_array, m.all, reported));
        if (reported != ignored) {
          check_status(&statuses[0]);
          CHECK(statuses[5].MPI_SOURCE == (world_rank + m.active[0].ranks - 1) % m.active[0].ranks);
        }
        break;
      case 1:
        for (flag = 0; !flag;) OK(MPI_Testall(in_array, m.all, &flag, reported));
        break;
      case 2:
        for (;;) {
          OK(MPI_Waitany(in_array, m.all, &index, reported == ignored ? MPI_STATUS_IGNORE : statuses));
          if (index == MPI_UNDEFINED) break;
          CHECK(index >= 0 && index < in_array && !seen[index]++);
          ++done;
        }
        CHECK(done == 4);
        break;
      case 3:
        while (done < 4) {
          OK(MPI_Testany(in_array, m.all, &index, &flag, reported == ignored ? MPI_STATUS_IGNORE : statuses));
          if (!flag) continue;
          CHECK(index >= 0 && index < in_array && !seen[index]++);
          ++done;
        }
        OK(MPI_Testany(in_array, m.all, &index, &flag, MPI_STATUS_IGNORE));
        CHECK(flag && index == MPI_UNDEFINED);
        break;
      default:
        for (;;) {
          if (n / 2 % 6 == 4)
            OK(MPI_Waitsome(in_array, m.all, &count, indices, reported));
          else
            OK(MPI_Testsome(in_array, m.all, &count, indices, reported));
          if (count == MPI_UNDEFINED) break;
          for (int i = 0; i < count; ++i) CHECK(!seen[indices[i]]++);
          done += count;
        }
        CHECK(done == 4);
    }
    check_mixed(&m);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&m.active[i].request));
  OK(MPI_Request_free(&m.inactive.request));
}

/* Ranks start and complete in different orders, and stand in a barrier between start and completion, or after it. */
static void any_order(void) {
  static struct exchange x[kinds];
  for (int kind = 0; kind < kinds; ++kind) make(&x[kind], MPI_COMM_WORLD, kind);
  for (int n = 0; n < 12; ++n) {
    for (int kind = 0; kind < kinds; ++kind) fill(&x[kind]);
    for (int i = 0; i < kinds; ++i) OK(MPI_Start(&x[(i + world_rank + n) % kinds].request));
    if (world_rank % 2 == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < kinds; ++i)
      OK(MPI_Wait(&x[(2 * kinds - i + 2 * world_rank) % kinds].request, MPI_STATUS_IGNORE));
    if (world_rank % 2 != 0) OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int kind = 0; kind < kinds; ++kind) check(&x[kind]);
  }
  for (int kind = 0; kind < kinds; ++kind) OK(MPI_Request_free(&x[kind].request));
}

/* On halves of the world, which are freed before the last completion. */
static void halves(void) {
  MPI_Comm half;
  struct exchange x;
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half));
  make(&x, half, 1);
  for (int n = 0; n < 9; ++n) {
    fill(&x);
    OK(MPI_Start(&x.request));
    if (n == 8) OK(MPI_Comm_free(&half));
    OK(MPI_Wait(&x.request, MPI_STATUS_IGNORE));
    check(&x);
  }
  OK(MPI_Request_free(&x.request));
}

/* Around a ring: recorded and reported, and the MPI library's. The ring, on which there are served calls too, is freed
 * before the last completion. */
static void neighbours(void) {
  MPI_Comm ring;
  MPI_Request request;
  int ranks, send, recv;
  const int one = 1, zero = 0;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const int before = (world_rank + ranks - 1) % ranks, behind = (world_rank + 1) % ranks;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &one, 1, &behind, &one, MPI_INFO_NULL, 0, &ring));
  int all[most] = {0}, sum[most];
  OK(MPI_Alltoall(all, 1, MPI_INT, sum, 1, MPI_INT, ring));
  OK(MPI_Neighbor_alltoallv_init(&send, &one, &zero, MPI_INT, &recv, &one, &zero, MPI_INT, ring, MPI_INFO_NULL,
                                 &request));
  for (int n = 0; n < 3; ++n) {
    send = 100 * world_rank + n;
    recv = -1;
    OK(MPI_Start(&request));
    if (n == 2) OK(MPI_Comm_free(&ring));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(recv == 100 * before + n);
  }
  OK(MPI_Request_free(&request));
}

/* A wrong use of a served request is an error, and the request lives on. */
static void errors(void) {
  MPI_Comm comm;
  struct exchange x;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* MPICH's, where several requests are tested */
  make(&x, comm, 1);
  for (int n = 0; n < 3; ++n) {
    fill(&x);
    OK(MPI_Start(&x.request));
    CHECK(class_of(MPI_Start(&x.request)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Request_free(&x.request)) == MPI_ERR_REQUEST);
    OK(MPI_Waitall(1, &x.request, ignored));
    check(&x);
  }
  OK(MPI_Request_free(&x.request));
  /* Rank 0 expects less than the last rank sends, then more: an error of all ranks, and no request. */
  int in[most] = {0}, out[most] = {0}, zeros[most] = {0}, data[4] = {1, 2, 3, 4}, got[4] = {-1, -1, -1, -1};
  for (int expected = 1; expected < 4; expected += 2) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (x.rank == x.ranks - 1) out[0] = 2;
    if (x.rank == 0) in[x.ranks - 1] = expected;
    const int code =
        MPI_Alltoallv_init(data, out, zeros, MPI_INT, got, in, zeros, MPI_INT, comm, MPI_INFO_NULL, &request);
    CHECK(class_of(code) == (expected < 2 ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT));
    CHECK(got[0] == -1);
  }
  make(&x, comm, 0);
  fill(&x);
  OK(MPI_Start(&x.request));
  OK(MPI_Wait(&x.request, MPI_STATUS_IGNORE));
  check(&x);
  OK(MPI_Request_free(&x.request));
  OK(MPI_Comm_free(&comm));
}

static void *in_thread(void *comm) {
  struct exchange x[2];
  make(&x[0], *(MPI_Comm *)comm, 0);
  make(&x[1], *(MPI_Comm *)comm, 1);
  for (int n = 0; n < 20; ++n) {
    for (int i = 0; i < 2; ++i) {
      fill(&x[i]);
      OK(MPI_Start(&x[i].request));
    }
    MPI_Request both[2] = {x[0].request, x[1].request};
    OK(MPI_Waitall(2, both, ignored));
    for (int i = 0; i < 2; ++i) check(&x[i]);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&x[i].request));
  return NULL;
}

static void threads(void) {
  pthread_t thread[3];
  MPI_Comm comm[3];
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&thread[i], NULL, in_thread, &comm[i]) == 0);
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
  for (int i = 0; i < 3; ++i) OK(MPI_Comm_free(&comm[i]));
}

/* Calls in which no rank has data for another, while rank 0 starts its request before the call and the others after it:
 * such calls must not depend on what a rank has started. */
static void between_empty_calls(void) {
  struct exchange x;
  int zeros[most] = {0}, nothing = 0, received_nothing = 0;
  make(&x, MPI_COMM_WORLD, 1);
  for (int n = 0; n < 60; ++n) {
    fill(&x);
    const int first = n >= 10 && world_rank == 0;
    if (first) OK(MPI_Start(&x.request));
    OK(MPI_Alltoallv(&nothing, zeros, zeros, MPI_INT, &received_nothing, zeros, zeros, MPI_INT, MPI_COMM_WORLD));
    if (!first) OK(MPI_Start(&x.request));
    OK(MPI_Wait(&x.request, MPI_STATUS_IGNORE));
    check(&x);
  }
  OK(MPI_Request_free(&x.request));
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } parts[] = {
      {"one_by_one", one_by_one},
      {"arrays", arrays},
      {"any_order", any_order},
      {"halves", halves},
      {"neighbours", neighbours},
      {"errors", errors},
      {"seven_starts", seven_starts},
      {"threads", threads},
      {"between_empty_calls", between_empty_calls},
  };
  int provided = MPI_THREAD_SINGLE;
  const char *who = getenv("TAQUIN_PERSISTENT");
  const char *report = getenv("TAQUIN_REPORT"); /* in full: every n-th start is the MPI library's */
  served = who != NULL && strcmp(who, "always") == 0 && (report == NULL || strncmp(report, "full", 4) != 0) &&
           getenv("TAQUIN_MEMORY") == NULL; /* too little in the test that sets it */
  ignored = MPI_STATUSES_IGNORE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    if (argc > 1 ? strcmp(argv[1], parts[i].name) == 0 : parts[i].run != errors) parts[i].run();
  return MPI_Finalize();
}
