/* An irregular exchange in the forms that the C API takes, and what is checked of it. */
#ifndef TAQUIN_TEST_PROBLEM_H
#define TAQUIN_TEST_PROBLEM_H

#include <stdlib.h>

#include "check.h"

/* What rank `from` sends to rank `to`: from + 2·to + 1 ints. */
static int count_of(int from, int to) { return from + 2 * to + 1; }
static int value_of(int from, int to, int i) { return from * 10000 + to * 100 + i; }

enum { guard = -7 };

/* Both sides of an irregular exchange, one guard element before and after each block. */
struct problem {
  int *send, *recv, *sc, *sd, *rc, *rd;
  int recv_length;
  MPI_Count *wide_sc, *wide_rc;
  MPI_Aint *wide_sd, *wide_rd;
  int *byte_sd, *byte_rd;
  MPI_Aint *wide_byte_sd, *wide_byte_rd;
  MPI_Datatype *types;
};

static void *array(size_t size) {
  void *memory = malloc(size * (size_t)ranks);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return memory;
}

static void make(struct problem *x) {
  int i, j, st = 1, rt = 1;
  x->sc = array(sizeof(int)), x->sd = array(sizeof(int)), x->rc = array(sizeof(int)), x->rd = array(sizeof(int));
  x->wide_sc = array(sizeof(MPI_Count)), x->wide_rc = array(sizeof(MPI_Count));
  x->wide_sd = array(sizeof(MPI_Aint)), x->wide_rd = array(sizeof(MPI_Aint));
  x->byte_sd = array(sizeof(int)), x->byte_rd = array(sizeof(int));
  x->wide_byte_sd = array(sizeof(MPI_Aint)), x->wide_byte_rd = array(sizeof(MPI_Aint));
  x->types = array(sizeof(MPI_Datatype));
  for (i = 0; i < ranks; ++i) {
    x->wide_sc[i] = x->sc[i] = count_of(rank, i);
    x->wide_rc[i] = x->rc[i] = count_of(i, rank);
    x->wide_sd[i] = x->sd[i] = st;
    x->wide_rd[i] = x->rd[i] = rt;
    x->wide_byte_sd[i] = x->byte_sd[i] = st * (int)sizeof(int);
    x->wide_byte_rd[i] = x->byte_rd[i] = rt * (int)sizeof(int);
    x->types[i] = MPI_INT;
    st += x->sc[i] + 1;
    rt += x->rc[i] + 1;
  }
  x->send = malloc((size_t)st * sizeof(int));
  x->recv = malloc((size_t)rt * sizeof(int));
  if (x->send == NULL || x->recv == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  x->recv_length = rt;
  for (i = 0; i < st; ++i) x->send[i] = guard;
  for (i = 0; i < ranks; ++i)
    for (j = 0; j < x->sc[i]; ++j) x->send[x->sd[i] + j] = value_of(rank, i, j);
}

static void release(struct problem *x) {
  free(x->send), free(x->recv), free(x->sc), free(x->sd), free(x->rc), free(x->rd);
  free(x->wide_sc), free(x->wide_rc), free(x->wide_sd), free(x->wide_rd);
  free(x->byte_sd), free(x->byte_rd), free(x->wide_byte_sd), free(x->wide_byte_rd), free(x->types);
}

static void clear(struct problem *x) {
  int i;
  for (i = 0; i < x->recv_length; ++i) x->recv[i] = guard;
}

static int untouched(const struct problem *x) {
  int i;
  for (i = 0; i < x->recv_length; ++i)
    if (x->recv[i] != guard) return 0;
  return 1;
}

static int right(const struct problem *x) {
  int from, j, at = 0;
  for (from = 0; from < ranks; ++from) {
    if (x->recv[at++] != guard) return 0;
    for (j = 0; j < x->rc[from]; ++j)
      if (x->recv[at++] != value_of(from, rank, j)) return 0;
  }
  return x->recv[at] == guard;
}

#endif
