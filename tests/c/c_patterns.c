/* Permutations, collectives and datatypes of taquin/patterns.h, from C99. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { guard_value = -1, block = 3 };

static void *array(size_t size) {
  void *memory = malloc(size * (size_t)ranks);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return memory;
}

static void permutations_reach_the_right_ranks(MPI_Comm comm) {
  int by, i, from, mine[block], got[block];
  for (by = -2; by <= 2; ++by) {
    for (i = 0; i < block; ++i) mine[i] = 100 * rank + i, got[i] = guard_value;
    CHECK_OK(TAQUIN_Permute(TAQUIN_RING, by, mine, got, block, MPI_INT, comm));
    from = ((rank - by) % ranks + ranks) % ranks;
    for (i = 0; i < block; ++i) CHECK(got[i] == 100 * from + i);
    for (i = 0; i < block; ++i) got[i] = guard_value;
    CHECK_OK(TAQUIN_Permute(TAQUIN_SHIFT, by, mine, got, block, MPI_INT, comm));
    from = rank - by;
    for (i = 0; i < block; ++i) CHECK(got[i] == (from >= 0 && from < ranks ? 100 * from + i : guard_value));
    if (by < 0) continue;
    for (i = 0; i < block; ++i) got[i] = guard_value;
    CHECK_OK(TAQUIN_Permute(TAQUIN_HYPERCUBE, by, mine, got, block, MPI_INT, comm));
    from = rank ^ by;
    for (i = 0; i < block; ++i) CHECK(got[i] == (from < ranks ? 100 * from + i : guard_value));
  }
}

static void errors_reach_every_rank(MPI_Comm comm) {
  int mine = rank, got = guard_value;
  CHECK(class_of(TAQUIN_Permute(rank == ranks - 1 ? 7 : TAQUIN_RING, 1, &mine, &got, 1, MPI_INT, comm)) == MPI_ERR_ARG);
  CHECK(class_of(TAQUIN_Permute(TAQUIN_HYPERCUBE, rank == 0 ? -1 : 1, &mine, &got, 1, MPI_INT, comm)) == MPI_ERR_ARG);
  CHECK(class_of(TAQUIN_Bcast(&mine, rank == 0 ? -1 : 1, MPI_INT, 0, comm)) == MPI_ERR_COUNT);
  CHECK(class_of(TAQUIN_Reduce(&mine, &got, 1, MPI_INT, MPI_SUM, ranks, comm)) == MPI_ERR_ROOT);
  CHECK(class_of(TAQUIN_Allreduce(rank == 0 ? MPI_IN_PLACE : &mine, &got, 1, MPI_INT, MPI_SUM, comm)) ==
        MPI_ERR_BUFFER);
  CHECK(got == guard_value);
}

static void collectives_give_what_the_mpi_library_gives(MPI_Comm comm) {
  int root, i, mine[2], got[2], right[2];
  int *all = array(2 * sizeof(int)), *all_right = array(2 * sizeof(int)), *from_root = array(2 * sizeof(int));
  mine[0] = rank + 1, mine[1] = 3 * rank;
  for (i = 0; i < 2 * ranks; ++i) from_root[i] = 1000 * rank + i;
  CHECK_OK(TAQUIN_Barrier(comm));
  for (root = 0; root < ranks; ++root) {
    memcpy(got, mine, sizeof got), memcpy(right, mine, sizeof right);
    CHECK_OK(TAQUIN_Bcast(got, 2, MPI_INT, root, comm));
    MPI_Bcast(right, 2, MPI_INT, root, comm);
    CHECK(memcmp(got, right, sizeof got) == 0);
    CHECK_OK(TAQUIN_Reduce(mine, got, 2, MPI_INT, MPI_SUM, root, comm));
    MPI_Reduce(mine, right, 2, MPI_INT, MPI_SUM, root, comm);
    CHECK(rank != root || memcmp(got, right, sizeof got) == 0);
    CHECK_OK(TAQUIN_Gather(mine, all, 2, MPI_INT, root, comm));
    MPI_Gather(mine, 2, MPI_INT, all_right, 2, MPI_INT, root, comm);
    CHECK(rank != root || memcmp(all, all_right, 2 * sizeof(int) * (size_t)ranks) == 0);
    CHECK_OK(TAQUIN_Scatter(from_root, got, 2, MPI_INT, root, comm));
    MPI_Scatter(from_root, 2, MPI_INT, right, 2, MPI_INT, root, comm);
    CHECK(memcmp(got, right, sizeof got) == 0);
  }
  CHECK_OK(TAQUIN_Allreduce(mine, got, 2, MPI_INT, MPI_MAX, comm));
  MPI_Allreduce(mine, right, 2, MPI_INT, MPI_MAX, comm);
  CHECK(memcmp(got, right, sizeof got) == 0);
  CHECK_OK(TAQUIN_Allgather(mine, all, 2, MPI_INT, comm));
  MPI_Allgather(mine, 2, MPI_INT, all_right, 2, MPI_INT, comm);
  CHECK(memcmp(all, all_right, 2 * sizeof(int) * (size_t)ranks) == 0);
  CHECK_OK(TAQUIN_Scan(mine, got, 2, MPI_INT, MPI_SUM, comm));
  MPI_Scan(mine, right, 2, MPI_INT, MPI_SUM, comm);
  CHECK(memcmp(got, right, sizeof got) == 0);
  /* Elements 1, 2, 3, … of all ranks, rank r with r + 1 consecutive ones: the k-th sum is k(k + 1)/2. */
  for (i = 0; i <= rank; ++i) all[i] = rank * (rank + 1) / 2 + i + 1;
  CHECK_OK(TAQUIN_Scan_elements(all, all_right, rank + 1, MPI_INT, MPI_SUM, comm));
  for (i = 0; i <= rank; ++i) CHECK(all_right[i] == all[i] * (all[i] + 1) / 2);
  free(all), free(all_right), free(from_root);
}

/* The layouts of Träff et al., Figure 2 and §3.5. */
static void datatypes_hold_what_the_paper_says(void) {
  static const MPI_Count counts[3] = {2, 0, 1};
  static const int bounded[] = {0, 1, 4, 5, 8}, circular[] = {7, 8, 1, 2}, buckets[] = {0, 1, 6};
  int from[12], to[12], i, size = 0;
  MPI_Datatype type, packed;
  for (i = 0; i < 12; ++i) from[i] = i;
  CHECK_OK(TAQUIN_Type_bounded_vector(9, 2, 4, MPI_INT, &type));
  CHECK_OK(TAQUIN_Typed_copy(from, 1, type, to, 5, MPI_INT));
  for (i = 0; i < 5; ++i) CHECK(to[i] == bounded[i]);
  CHECK_OK(TAQUIN_Type_signature(type, &packed));
  MPI_Type_size(packed, &size);
  CHECK(size == 5 * (int)sizeof(int));
  MPI_Type_free(&packed);
  MPI_Type_free(&type);
  CHECK_OK(TAQUIN_Type_circular_vector(10, 6, 7, 2, 4, MPI_INT, &type));
  CHECK_OK(TAQUIN_Typed_copy(from, 1, type, to, 4, MPI_INT));
  for (i = 0; i < 4; ++i) CHECK(to[i] == circular[i]);
  MPI_Type_free(&type);
  CHECK_OK(TAQUIN_Type_bucket(3, 3, counts, MPI_INT, &type));
  CHECK_OK(TAQUIN_Typed_copy(from, 1, type, to, 3, MPI_INT));
  for (i = 0; i < 3; ++i) CHECK(to[i] == buckets[i]);
  MPI_Type_free(&type);
  CHECK(TAQUIN_Type_bounded_vector(9, 5, 4, MPI_INT, &type) != MPI_SUCCESS && type == MPI_DATATYPE_NULL);
  CHECK(TAQUIN_Type_bucket(3, 2, NULL, MPI_INT, &type) != MPI_SUCCESS);
}

int main(int argc, char **argv) {
  begin(&argc, &argv);
  permutations_reach_the_right_ranks(MPI_COMM_WORLD);
  errors_reach_every_rank(MPI_COMM_WORLD);
  collectives_give_what_the_mpi_library_gives(MPI_COMM_WORLD);
  datatypes_hold_what_the_paper_says();
  return end();
}
