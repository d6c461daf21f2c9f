/* C programs after a failure of a redistribution: they repair it, or roll it back. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { blocks = 3, length = 2 };

/* Block k of rank r has r and k. */
static void fill(int data[blocks][length]) {
  int k;
  for (k = 0; k < blocks; ++k) data[k][0] = rank, data[k][1] = k;
}

static int as_filled(int data[blocks][length]) {
  int k, right = 1;
  for (k = 0; k < blocks; ++k) right = right && data[k][0] == rank && data[k][1] == k;
  return right;
}

/* Where the map says that blocks are, and where they were before. */
static void destinations(const TAQUIN_Block_map *map, int to[blocks], int at[blocks]) {
  int k, side, i;
  for (k = 0; k < blocks; ++k) to[k] = -1, at[k] = 0;
  for (side = 0; side < 2; ++side)
    for (i = 0; i < (side == 0 ? map->incoming_size : map->outgoing_size); ++i) {
      const TAQUIN_Part *const part = (side == 0 ? map->incoming : map->outgoing) + i;
      for (k = 0; k < part->length && part->at >= 0 && part->state != TAQUIN_STAGED; ++k) {
        to[part->at + k] = side == 0 ? rank : part->peer;
        at[part->at + k] = (int)part->offset + k;
      }
    }
}

static MPI_Comm copy_of_world(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

static int handler_calls;
static void handler(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  (void)code;
  ++handler_calls;
}

static void what_is_rolled_back_is_where_it_was(void) {
  int data[blocks][length], to[blocks], at[blocks], k;
  char name[] = "slots";
  MPI_Comm before = copy_of_world(), survivors = copy_of_world();
  MPI_Errhandler own;
  TAQUIN_Redistribution r;
  TAQUIN_Block_map map;
  fill(data);
  for (k = 0; k < blocks; ++k) to[k] = (rank + k) % ranks, at[k] = (k + 1) % blocks;
  CHECK_OK(TAQUIN_Redistribution_create(data, blocks, length, MPI_INT, before, name, TAQUIN_UNLIMITED, &r));
  name[0] = 'X'; /* the string need not live on */
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, blocks, to, at));
  CHECK(!as_filled(data));

  /* Wrong on the last rank only: an error on all, and nothing is changed. */
  CHECK(class_of(TAQUIN_Redistribution_repair(r, survivors, rank == ranks - 1 ? NULL : &map)) == MPI_ERR_ARG);
  CHECK(strstr(TAQUIN_Last_error(), "null address for the map") != NULL);
  CHECK(class_of(TAQUIN_Redistribution_roll_back(r, survivors, blocks, rank == ranks - 1 ? NULL : to, at, &map)) ==
        MPI_ERR_ARG);
  CHECK(strstr(TAQUIN_Last_error(), "null destinations") != NULL);

  CHECK_OK(TAQUIN_Redistribution_roll_back(r, survivors, blocks, to, at, &map));
  MPI_Comm_free(&before); /* it is no longer the redistribution's */
  CHECK(map.known == 1 && map.unit_bytes == length * (int)sizeof(int) && map.staged_units == 0);
  destinations(&map, to, at);
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, blocks, to, at));
  CHECK(as_filled(data));

  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(survivors, own);
  to[0] = ranks;
  CHECK(class_of(TAQUIN_Redistribution_redistribute(r, blocks, to, at)) == MPI_ERR_RANK && handler_calls == 1);
  MPI_Errhandler_free(&own);
  CHECK_OK(TAQUIN_Redistribution_free(&r));
  MPI_Comm_free(&survivors);
}

static void what_is_repaired_goes_on(void) {
  int data[blocks][length], to[blocks], at[blocks], k, own = 0;
  MPI_Comm before = copy_of_world(), survivors;
  TAQUIN_Redistribution r;
  TAQUIN_Block_map map;
  MPI_Comm_split(before, 0, -rank, &survivors); /* the ranks the other way round */
  MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
  MPI_Comm_rank(survivors, &own);
  fill(data);
  for (k = 0; k < blocks; ++k) to[k] = (rank + 1) % ranks, at[k] = k;
  CHECK_OK(TAQUIN_Redistribution_create(data, blocks, length, MPI_INT, before, NULL, TAQUIN_UNLIMITED, &r));
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, blocks, to, at));
  CHECK_OK(TAQUIN_Redistribution_repair(r, survivors, &map));
  CHECK(map.known == 1 && map.outgoing_size == 0 && map.staged_units == 0);
  for (k = 0; k < map.incoming_size; ++k) CHECK(map.incoming[k].state == TAQUIN_ARRIVED);
  for (k = 0; k < blocks; ++k) to[k] = (own + 1) % ranks; /* back, among the survivors */
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, blocks, to, at));
  CHECK(as_filled(data));
  CHECK(class_of(TAQUIN_Redistribution_repair(r, MPI_COMM_NULL, &map)) == MPI_ERR_COMM);
  CHECK(class_of(TAQUIN_Redistribution_repair(TAQUIN_REDISTRIBUTION_NULL, survivors, &map)) == MPI_ERR_ARG);
  CHECK_OK(TAQUIN_Redistribution_free(&r));
  MPI_Comm_free(&survivors);
  MPI_Comm_free(&before);
}

int main(int argc, char **argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  what_is_rolled_back_is_where_it_was();
  what_is_repaired_goes_on();
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
