/* Nonblocking exchanges among all ranks as a program has them: the three forms, several pending, completed in all
   ways and orders among messages of the program's own; every value checked. */
#include <mpi.h>
#include <stdlib.h>

#include "checks.h"

enum { most_ranks = 8, most_block = 20000, at_once = 12, forms = 3, ways = 8 };

typedef struct {
  int send_counts[most_ranks], send_at[most_ranks], recv_counts[most_ranks], recv_at[most_ranks];
  MPI_Datatype types[most_ranks];
  int *send, *recv, form, received;
  MPI_Request request;
} call;

static int ranks, rank;

/* How many ints go from one rank to another in a call: most are few, some are many, some none. */
static int ints(int form, int from, int to, int number) {
  const int kind = form == 0 ? number % 5 : (from * 7 + to * 13 + number * 5) % 11;
  return kind == 0 ? 0 : kind == 1 ? most_block : kind == 2 ? 3000 : kind * 3;
}
static int value(int from, int to, int number, int i) { return from * 1000003 + to * 10007 + number * 101 + i; }

static void start(MPI_Comm comm, call *c, int number) {
  int sent = 0;
  c->form = number % forms;
  c->received = 0;
  for (int k = 0; k < ranks; ++k) {
    c->send_at[k] = sent;
    sent += c->send_counts[k] = ints(c->form, rank, k, number);
    c->recv_at[k] = c->received;
    c->received += c->recv_counts[k] = ints(c->form, k, rank, number);
  }
  c->send = malloc(sizeof(int) * (size_t)(sent + 1));
  c->recv = malloc(sizeof(int) * (size_t)(c->received + 1));
  for (int k = 0; k < ranks; ++k)
    for (int i = 0; i < c->send_counts[k]; ++i) c->send[c->send_at[k] + i] = value(rank, k, number, i);
  for (int i = 0; i <= c->received; ++i) c->recv[i] = -1;
  if (c->form == 0) {
    OK(MPI_Ialltoall(c->send, c->send_counts[0], MPI_INT, c->recv, c->recv_counts[0], MPI_INT, comm, &c->request));
  } else if (c->form == 1) {
    OK(MPI_Ialltoallv(c->send, c->send_counts, c->send_at, MPI_INT, c->recv, c->recv_counts, c->recv_at, MPI_INT, comm,
                      &c->request));
  } else { /* a type of its own, freed before the request is complete, and displacements in bytes */
    MPI_Datatype type;
    OK(MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    for (int k = 0; k < ranks; ++k) {
      c->types[k] = type;
      c->send_at[k] *= (int)sizeof(int);
      c->recv_at[k] *= (int)sizeof(int);
    }
    OK(MPI_Ialltoallw(c->send, c->send_counts, c->send_at, c->types, c->recv, c->recv_counts, c->recv_at, c->types,
                      comm, &c->request));
    OK(MPI_Type_free(&type));
  }
}

static void check(call *c, int number) {
  for (int k = 0, at = 0; k < ranks; at += c->recv_counts[k++])
    for (int i = 0; i < c->recv_counts[k]; ++i) CHECK(c->recv[at + i] == value(k, rank, number, i));
  CHECK(c->recv[c->received] == -1);
  free(c->send);
  free(c->recv);
}

static void complete(int n, MPI_Request requests[], int how) {
  MPI_Status statuses[at_once + 2]; /* MPICH's header makes compilers doubt MPI_STATUSES_IGNORE */
  int which[at_once + 2];
  if (how == 0) {
    OK(MPI_Waitall(n, requests, statuses));
  } else if (how == 1) {
    for (int left = n, some = 0; left > 0; left -= some) {
      OK(MPI_Waitsome(n, requests, &some, which, statuses));
      CHECK(some != MPI_UNDEFINED && some > 0);
    }
  } else if (how == 2) {
    for (int left = n; left > 0; --left) {
      OK(MPI_Waitany(n, requests, which, MPI_STATUS_IGNORE));
      CHECK(which[0] >= 0 && requests[which[0]] == MPI_REQUEST_NULL);
    }
  } else if (how == 3) {
    for (int i = n - 1; i >= 0; --i)
      for (int done = 0; !done;) OK(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
  } else if (how == 4) {
    for (int done = 0; !done;) OK(MPI_Testall(n, requests, &done, statuses));
  } else if (how == 5) {
    for (int left = n, some = 0; left > 0; left -= some) {
      OK(MPI_Testsome(n, requests, &some, which, statuses));
      CHECK(some != MPI_UNDEFINED);
    }
  } else if (how == 6) {
    for (int left = n, done = 0; left > 0; left -= done) {
      OK(MPI_Testany(n, requests, which, &done, MPI_STATUS_IGNORE));
      CHECK(!done || requests[which[0]] == MPI_REQUEST_NULL);
    }
  } else { /* another order on each rank */
    for (int i = 0; i < n; ++i) OK(MPI_Wait(&requests[(i * 5 + rank) % n], MPI_STATUS_IGNORE));
  }
}

static void several(MPI_Comm comm, int first, int how, int behind_barrier) {
  call calls[at_once];
  MPI_Request requests[at_once + 2];
  int token = rank, got = -1;
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  for (int i = 0; i < at_once; ++i) {
    start(comm, &calls[i], first + i);
    requests[i] = calls[i].request;
  }
  OK(MPI_Isend(&token, 1, MPI_INT, next, 5, comm, &requests[at_once]));
  OK(MPI_Irecv(&got, 1, MPI_INT, before, 5, comm, &requests[at_once + 1]));
  if (behind_barrier) OK(MPI_Barrier(comm));
  complete(at_once + (how == 7 ? 1 : 2), requests, how);
  if (how == 7) OK(MPI_Wait(&requests[at_once + 1], MPI_STATUS_IGNORE));
  for (int i = 0; i < at_once + 2; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK(got == before);
  for (int i = 0; i < at_once; ++i) check(&calls[i], first + i);
}

/* A start waits for no rank: rank 0 has started all its calls before the others start the first. */
static void one_ahead_of_all(MPI_Comm comm, int first) {
  call calls[at_once];
  int token = 0;
  for (int i = 0; rank == 0 && i < at_once; ++i) start(comm, &calls[i], first + i);
  OK(MPI_Bcast(&token, 1, MPI_INT, 0, comm));
  for (int i = 0; rank > 0 && i < at_once; ++i) start(comm, &calls[i], first + i);
  for (int i = at_once - 1; i >= 0; --i) OK(MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE));
  for (int i = 0; i < at_once; ++i) check(&calls[i], first + i);
}

static void in_place(MPI_Comm comm) {
  int data[most_ranks];
  MPI_Request request;
  for (int k = 0; k < ranks; ++k) data[k] = 100 * rank + k;
  OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 1, MPI_INT, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int k = 0; k < ranks; ++k) CHECK(data[k] == 100 * k + rank);
}

/* Enough calls of each kind to find the faster library. Frees the communicator while a call is in progress. */
static void on(MPI_Comm comm, int rounds) {
  int number = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  for (int round = 0; round < rounds; ++round) {
    several(comm, number, round % ways, round / ways % 2);
    number += at_once;
    if (round % 3 == 0) {
      one_ahead_of_all(comm, number);
      in_place(comm);
      number += at_once;
    }
  }
  call last;
  start(comm, &last, number);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&last.request, MPI_STATUS_IGNORE));
  check(&last, number);
}

/* So many calls of one kind that it is measured again, twice. */
static void measured_again(MPI_Comm comm) {
  call calls[at_once];
  MPI_Request requests[at_once];
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  for (int number = 1; number < 1104 * forms; number += at_once * forms) {
    for (int i = 0; i < at_once; ++i) {
      start(comm, &calls[i], number + i * forms); /* all of them alltoallv */
      requests[i] = calls[i].request;
    }
    complete(at_once, requests, number % ways);
    for (int i = 0; i < at_once; ++i) check(&calls[i], number + i * forms);
  }
  OK(MPI_Comm_free(&comm));
}

static int free_inner(MPI_Comm comm, int key, void *inner, void *state) {
  (void)comm, (void)key, (void)state;
  return MPI_Comm_free((MPI_Comm *)inner);
}

static void begin_to_agree(MPI_Comm comm) {
  for (int number = 0; number < 30; number += 6) {
    call c;
    start(comm, &c, number);
    OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
    check(&c, number);
  }
}

/* More communicators than MPI libraries have at a time, each freed soon after its ranks have entered agreement, every
   second one in the function of another one's attribute. */
static void come_and_go(void) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_inner, &key, NULL));
  for (int k = 0; k < 1050; ++k) {
    MPI_Comm comm, inner;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &inner));
    OK(MPI_Comm_set_attr(comm, key, &inner));
    begin_to_agree(comm);
    begin_to_agree(inner);
    OK(k % 2 == 0 ? MPI_Comm_free(&comm) : MPI_Comm_disconnect(&comm));
    CHECK(inner == MPI_COMM_NULL);
  }
  OK(MPI_Comm_free_keyval(&key));
}

static void not_freed(MPI_Comm comm, int starts) {
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  for (int number = 0; number < starts; ++number) {
    call c;
    start(comm, &c, number);
    OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
    check(&c, number);
  }
}

int main(int argc, char **argv) {
  MPI_Comm comm;
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  if (argc > 1) {
    come_and_go();
    return MPI_Finalize();
  }
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm)); /* its ranks are not those of the world */
  on(comm, 20);
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &comm));
  on(comm, 8);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm)); /* ends while ranks still agree */
  on(comm, 1);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  measured_again(comm);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  not_freed(comm, 50);
  not_freed(MPI_COMM_WORLD, 5);
  return MPI_Finalize();
}
