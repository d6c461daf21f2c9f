/* Calls of a program under the preloaded library in which one rank does harm: every rank comes back with an error or a
   right result, nothing is written outside the receive blocks, and other communicators go on. All follows from a number
   that all ranks know: hostile FIRST PROBLEMS. A hang ends by a signal, with the number. */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

enum { most_ranks = 16, most_block = 20000, guard = -77 };
enum form { alltoall, alltoallv, alltoallw, in_place, forms };
enum offence { none, negative, less, more, absent, other_form, offences };

typedef struct {
  long number;
  int form, offence, offender, victim, block, warm;
} recipe;

static int ranks;
static const char *const names[offences] = {"none", "negative", "less", "more", "absent", "other form"};

static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static recipe make(long number) {
  static const int blocks[] = {1, 3, 40, 700, 5000, most_block};
  uint64_t state = (uint64_t)number * 1000003u;
  recipe r = {.number = number};
  r.form = (int)(next(&state) % forms);
  r.offence = (int)(next(&state) % offences);
  if (r.offence == absent && next(&state) % 4 != 0) r.offence = none; /* each takes a timeout */
  if (r.offence == more && r.form == alltoall) r.offence = less;      /* has one count */
  r.offender = (int)(next(&state) % (uint64_t)ranks);
  r.victim = (r.offender + 1 + (int)(next(&state) % (uint64_t)(ranks - 1))) % ranks;
  r.block = blocks[next(&state) % 6];
  r.warm = (int)(next(&state) % 2);
  return r;
}

static int value(int from, int to, int i) { return from * 1000 + to * 50 + i % 50; }

/* One call of all ranks but those that stay away; its code. A rank without harm checks what it has received. */
static int call(const recipe *r, MPI_Comm comm, int harms) {
  static int out[most_ranks * most_block], in[most_ranks * (most_block + 1) + 1];
  int scounts[most_ranks], rcounts[most_ranks], displs[most_ranks], sdispls[most_ranks], bytes[most_ranks],
      sbytes[most_ranks];
  MPI_Datatype types[most_ranks];
  const int mine = harms && world_rank == r->offender;
  const int form = mine && r->offence == other_form ? (r->form + 1) % in_place : r->form;
  for (int i = 0; i < ranks; ++i) {
    scounts[i] = rcounts[i] = r->block;
    sdispls[i] = i * r->block;
    displs[i] = i * (r->block + 1) + 1;
    types[i] = MPI_INT;
    bytes[i] = displs[i] * (int)sizeof(int);
    sbytes[i] = sdispls[i] * (int)sizeof(int);
    for (int k = 0; k < r->block; ++k) out[sdispls[i] + k] = value(world_rank, i, k);
  }
  for (int i = 0; i < ranks * (most_block + 1) + 1; ++i) in[i] = guard;
  if (form == in_place)
    for (int i = 0; i < ranks; ++i)
      for (int k = 0; k < r->block; ++k) in[displs[i] + k] = value(world_rank, i, k);
  if (mine && r->offence == negative) (form == in_place ? rcounts : scounts)[r->victim] = -1;
  if (mine && r->offence == less) scounts[r->victim] = r->block / 2;
  if (mine && r->offence == more) rcounts[r->victim] = r->block / 2;
  if (mine && form == in_place && (r->offence == less || r->offence == more)) rcounts[r->victim] = r->block / 2;
  const int one = mine && r->offence == less ? r->block / 2 : mine && r->offence == negative ? -1 : r->block;
  int code = MPI_SUCCESS;
  if (form == alltoall) {
    int *const dense = in + 1;
    code = MPI_Alltoall(out, one, MPI_INT, dense, r->block, MPI_INT, comm);
    for (int i = 0; i < ranks; ++i) displs[i] = 1 + i * r->block;
  } else if (form == alltoallv) {
    code = MPI_Alltoallv(out, scounts, sdispls, MPI_INT, in, rcounts, displs, MPI_INT, comm);
  } else if (form == alltoallw) {
    code = MPI_Alltoallw(out, scounts, sbytes, types, in, rcounts, bytes, types, comm);
  } else {
    code = MPI_Alltoallv(MPI_IN_PLACE, scounts, sdispls, MPI_INT, in, rcounts, displs, MPI_INT, comm);
  }
  for (int i = 0; i < ranks; ++i) {
    if (form != alltoall || i == 0) CHECK(in[displs[i] - 1] == guard);
    for (int k = 0; code == MPI_SUCCESS && !harms && k < r->block; ++k)
      CHECK(in[displs[i] + k] == value(i, world_rank, k));
  }
  CHECK(in[displs[ranks - 1] + r->block] == guard);
  return code;
}

static long in_progress;
static void hangs(int signal) {
  (void)signal;
  const recipe r = make(in_progress);
  fprintf(stderr, "hostile: hang: rank %d: problem %ld (form %d, offence %s of rank %d)\n", world_rank, r.number,
          r.form, names[r.offence], r.offender);
  _exit(1);
}

static void expect(int right, const recipe *r, const int *codes) {
  if (right) return;
  fprintf(stderr, "hostile: rank %d: problem %ld (form %d, block %d, offence %s of rank %d to %d): codes", world_rank,
          r->number, r->form, r->block, names[r->offence], r->offender, r->victim);
  for (int i = 0; i < ranks; ++i) fprintf(stderr, " %d", class_of(codes[i]));
  fprintf(stderr, "\n");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void problem(const recipe *r) {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (int before = 0; r->warm && before < 2; ++before) OK(call(r, comm, 0));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int codes[most_ranks], code = MPI_SUCCESS;
  const int away = r->offence == absent && world_rank == r->offender;
  if (!away) code = call(r, comm, r->offence != none);
  OK(MPI_Allgather(&code, 1, MPI_INT, codes, 1, MPI_INT, MPI_COMM_WORLD));
  int errors = 0;
  for (int i = 0; i < ranks; ++i) errors += codes[i] != MPI_SUCCESS;
  switch (r->offence) {
    case none:
      expect(errors == 0, r, codes);
      break;
    case negative:
      expect(errors == ranks && class_of(code) == MPI_ERR_COUNT, r, codes);
      break;
    case other_form:
      expect(errors == ranks, r, codes);
      break;
    case absent:
      expect(errors == ranks - 1, r, codes);
      break;
    default:
      expect(errors > 0, r, codes);
      break;
  }
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 3 && ranks > 1 && ranks <= most_ranks);
  const long first = atol(argv[1]), problems = atol(argv[2]);
  signal(SIGALRM, hangs);
  for (in_progress = first; in_progress < first + problems; ++in_progress) {
    alarm(100);
    const recipe r = make(in_progress);
    problem(&r);
  }
  alarm(0);
  if (world_rank == 0) printf("hostile: %ld problems, 0 failures\n", problems);
  MPI_Finalize();
  return 0;
}
