/* Layouts in the C API: a matrix by rows becomes block-cyclic on a Fortran-ordered grid and back, transposed. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static double value(MPI_Count i, MPI_Count j) { return (double)(i * 1000 + j); }

/* The matrix of `rows` with its columns contiguous: each element is where it is found. */
static void elements_are_found(TAQUIN_Layout rows, const double *a) {
  const MPI_Count extents[2] = {23, 17};
  const int by_columns[2] = {1, ranks}, by_column[2] = {1, 0}, twice[2] = {1, 1};
  TAQUIN_Layout stored;
  CHECK(TAQUIN_Layout_create(2, extents, NULL, by_columns, NULL, NULL, MPI_ORDER_C, &stored) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_stored(stored, by_column) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_part(rows, NULL, NULL) == MPI_SUCCESS);
  MPI_Count size, offset, index[2], here[2];
  CHECK(TAQUIN_Layout_local_extents(stored, rank, here) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_local_size(stored, rank, &size) == MPI_SUCCESS);
  double *b = malloc((size_t)(size + 1) * sizeof *b);
  CHECK(TAQUIN_Redistribute_layout(a, rows, b, stored, NULL, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  MPI_Count found = 0;
  for (index[0] = 0; index[0] < 23; ++index[0])
    for (index[1] = 0; index[1] < 17; ++index[1]) {
      int owner = -1;
      CHECK(TAQUIN_Layout_find(stored, index, &owner, &offset) == MPI_SUCCESS);
      if (owner != rank) continue;
      ++found;
      CHECK(offset % 23 == index[0] && offset < size && b[offset] == value(index[0], index[1]));
    }
  CHECK(found == size && found == here[0] * here[1]);
  int owner = 77;
  index[0] = 5;
  CHECK(TAQUIN_Layout_find(stored, index, &owner, &offset) != MPI_SUCCESS && owner == 77);
  CHECK(strstr(TAQUIN_Last_error(), "dimension 1: no index 17 of 17") != NULL);
  CHECK(TAQUIN_Layout_find(stored, NULL, &owner, &offset) != MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_stored(stored, twice) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_find(stored, extents, &owner, &offset) != MPI_SUCCESS);
  CHECK(TAQUIN_Redistribute_layout(a, rows, b, stored, NULL, MPI_DOUBLE, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "the storage order is no permutation") != NULL);
  const int descriptor[] = {501, 0, 17, 17, 2, 2, 0, 0, 17};
  TAQUIN_Layout of_scalapack;
  CHECK(TAQUIN_Layout_scalapack(descriptor, 1, 1, NULL, &of_scalapack) == MPI_ERR_ARG);
  CHECK(strstr(TAQUIN_Last_error(), "the descriptor has type 501; that of a dense matrix is 1") != NULL);
  CHECK(TAQUIN_Layout_set_stored(stored, NULL) == MPI_SUCCESS);
  index[0] = 1;
  index[1] = 0;
  CHECK(TAQUIN_Layout_find(stored, index, &owner, &offset) == MPI_SUCCESS);
  if (rank == 0) CHECK(owner == 0 && offset == here[1]);
  CHECK(TAQUIN_Layout_free(&stored) == MPI_SUCCESS);
  free(b);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Count extents[2] = {23, 17}, transposed[2] = {17, 23}, blocks[2] = {3, 2};
  const int by_rows[2] = {ranks, 1}, by_columns[2] = {1, ranks}, axes[2] = {1, 0};
  const int cyclic[2] = {TAQUIN_BLOCK_CYCLIC, TAQUIN_BLOCK_CYCLIC};
  TAQUIN_Layout rows, columns;
  CHECK(TAQUIN_Layout_create(2, extents, NULL, by_rows, NULL, NULL, MPI_ORDER_C, &rows) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_create(2, transposed, cyclic, by_columns, blocks, NULL, MPI_ORDER_FORTRAN, &columns) ==
        MPI_SUCCESS);
  MPI_Count mine[2], size, there;
  CHECK(TAQUIN_Layout_local_extents(rows, rank, mine) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_local_size(rows, rank, &size) == MPI_SUCCESS);
  CHECK(size == mine[0] * mine[1] && mine[1] == 17);
  CHECK(TAQUIN_Layout_local_size(columns, rank, &there) == MPI_SUCCESS);
  double *a = malloc((size_t)(size + 1) * sizeof *a), *b = malloc((size_t)(there + 1) * sizeof *b),
         *c = calloc((size_t)size + 1, sizeof *c);
  MPI_Count first = 0;
  for (int r = 0; r < rank; ++r) {
    MPI_Count before[2];
    CHECK(TAQUIN_Layout_local_extents(rows, r, before) == MPI_SUCCESS);
    first += before[0];
  }
  for (MPI_Count i = 0; i < mine[0]; ++i)
    for (MPI_Count j = 0; j < 17; ++j) a[i * 17 + j] = value(first + i, j);
  CHECK(TAQUIN_Redistribute_layout(a, rows, b, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  /* Column j of the target is row j of the source; columns in blocks of 2. */
  for (MPI_Count j = 0, local = 0; j < 23; ++j) {
    if (j / 2 % ranks != rank) continue;
    for (MPI_Count i = 0; i < 17; ++i) CHECK(b[local * 17 + i] == value(j, i));
    ++local;
  }
  /* There and back in one array. */
  double *d = malloc((size_t)((size > there ? size : there) + 1) * sizeof *d);
  memcpy(d, a, (size_t)size * sizeof *d);
  CHECK(TAQUIN_Redistribute_layout_in_place(d, rows, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(memcmp(d, b, (size_t)there * sizeof *d) == 0);
  CHECK(TAQUIN_Redistribute_layout_in_place(d, columns, rows, axes, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(memcmp(d, a, (size_t)size * sizeof *d) == 0);
  CHECK(TAQUIN_Redistribute_layout_in_place(d, rank == 0 ? TAQUIN_LAYOUT_NULL : rows, columns, axes, MPI_DOUBLE,
                                            MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "null layout") != NULL && memcmp(d, a, (size_t)size * sizeof *d) == 0);
  TAQUIN_Layout_plan plan;
  CHECK(TAQUIN_Redistribute_layout_in_place_init(d, rank == 0 ? TAQUIN_LAYOUT_NULL : rows, columns, axes, MPI_DOUBLE,
                                                 MPI_COMM_WORLD, &plan) != MPI_SUCCESS);
  CHECK(plan == TAQUIN_LAYOUT_PLAN_NULL);
  CHECK(TAQUIN_Redistribute_layout_in_place_init(d, rows, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD, &plan) ==
        MPI_SUCCESS);
  for (int repeat = 0; repeat < 2; ++repeat) {
    int flag = 0;
    memcpy(d, a, (size_t)size * sizeof *d);
    CHECK(TAQUIN_Redistribute_layout_start(plan) == MPI_SUCCESS);
    CHECK(TAQUIN_Redistribute_layout_test(plan, &flag) == MPI_SUCCESS);
    CHECK(TAQUIN_Redistribute_layout_wait(plan) == MPI_SUCCESS);
    CHECK(memcmp(d, b, (size_t)there * sizeof *d) == 0);
  }
  CHECK(TAQUIN_Redistribute_layout_free(&plan) == MPI_SUCCESS);
  free(d);
  CHECK(TAQUIN_Redistribute_layout_init(b, columns, c, rows, axes, MPI_DOUBLE, MPI_COMM_WORLD, &plan) == MPI_SUCCESS);
  for (int repeat = 0; repeat < 2; ++repeat) {
    int flag = 0;
    memset(c, 0, (size_t)size * sizeof *c);
    CHECK(TAQUIN_Redistribute_layout_start(plan) == MPI_SUCCESS);
    CHECK(TAQUIN_Redistribute_layout_test(plan, &flag) == MPI_SUCCESS);
    CHECK(TAQUIN_Redistribute_layout_wait(plan) == MPI_SUCCESS);
    CHECK(memcmp(a, c, (size_t)size * sizeof *c) == 0);
  }
  CHECK(TAQUIN_Redistribute_layout_free(&plan) == MPI_SUCCESS && plan == TAQUIN_LAYOUT_PLAN_NULL);
  /* Scaled on the way, from array to array and in one; bytes cannot be. */
  double *scaled = malloc((size_t)((size > there ? size : there) + 1) * sizeof *scaled);
  CHECK(TAQUIN_Layout_set_scale(columns, -0.5, 0, 1) == MPI_SUCCESS);
  CHECK(TAQUIN_Redistribute_layout(a, rows, scaled, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (MPI_Count i = 0; i < there; ++i) CHECK(scaled[i] == -0.5 * b[i]);
  memcpy(scaled, a, (size_t)size * sizeof *scaled);
  CHECK(TAQUIN_Redistribute_layout_in_place(scaled, rows, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (MPI_Count i = 0; i < there; ++i) CHECK(scaled[i] == -0.5 * b[i]);
  CHECK(TAQUIN_Redistribute_layout(a, rows, scaled, columns, axes, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "not numbers of one type") != NULL);
  CHECK(TAQUIN_Layout_set_scale(columns, 1, 0, 0) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_scale(TAQUIN_LAYOUT_NULL, 1, 0, 0) != MPI_SUCCESS);
  free(scaled);
  /* Rows on the ranks in reverse: relabelled, none moves. */
  int *reverse = malloc((size_t)ranks * sizeof *reverse), at[2];
  for (int r = 0; r < ranks; ++r) reverse[r] = ranks - 1 - r;
  MPI_Count moved;
  TAQUIN_Layout elsewhere;
  CHECK(TAQUIN_Layout_create(2, transposed, NULL, by_columns, NULL, NULL, MPI_ORDER_FORTRAN, &elsewhere) ==
        MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_ranks(elsewhere, ranks, reverse, MPI_ORDER_C) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_elements_moved(rows, elsewhere, axes, &moved) == MPI_SUCCESS && (moved > 0) == (ranks > 1));
  CHECK(TAQUIN_Layout_relabel(elsewhere, rows, axes, ranks) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_elements_moved(rows, elsewhere, axes, &moved) == MPI_SUCCESS && moved == 0);
  CHECK(TAQUIN_Layout_coordinates(elsewhere, rank, at) == MPI_SUCCESS && at[0] == 0 && at[1] == rank);
  CHECK(TAQUIN_Layout_relabel(elsewhere, rows, axes, ranks - 1) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "processes on") != NULL);
  CHECK(TAQUIN_Layout_elements_moved(rows, elsewhere, NULL, &moved) != MPI_SUCCESS);
  CHECK(TAQUIN_Layout_free(&elsewhere) == MPI_SUCCESS);
  free(reverse);
  /* A part, as a plan: 9 rows from row 2 on and 5 columns from column 3 on become rows 4 to 8 of columns 1 to 9. */
  const MPI_Count source_begin[2] = {2, 3}, source_part[2] = {9, 5}, target_begin[2] = {4, 1}, target_part[2] = {5, 9};
  CHECK(TAQUIN_Layout_set_part(rows, source_begin, source_part) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_part(columns, target_begin, NULL) == MPI_SUCCESS);
  for (int given = 0; given < 2; ++given) {
    CHECK(TAQUIN_Layout_elements_moved(rows, columns, axes, &moved) == MPI_SUCCESS);
    CHECK(ranks == 1 ? moved == 0 : moved > 0 && moved <= 45);
    CHECK(TAQUIN_Redistribute_layout_init(a, rows, b, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD, &plan) == MPI_SUCCESS);
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (MPI_Count i = 0; i < there; ++i) b[i] = -1;
      CHECK(TAQUIN_Redistribute_layout_start(plan) == MPI_SUCCESS);
      CHECK(TAQUIN_Redistribute_layout_wait(plan) == MPI_SUCCESS);
      for (MPI_Count j = 0, local = 0; j < 23; ++j) {
        if (j / 2 % ranks != rank) continue;
        for (MPI_Count i = 0; i < 17; ++i) {
          const int inside = i >= 4 && i < 9 && j >= 1 && j < 10;
          CHECK(b[local * 17 + i] == (inside ? value(2 + j - 1, 3 + i - 4) : -1));
        }
        ++local;
      }
    }
    CHECK(TAQUIN_Redistribute_layout_free(&plan) == MPI_SUCCESS);
    /* The same, with the extents in the target. */
    CHECK(TAQUIN_Layout_set_part(rows, source_begin, NULL) == MPI_SUCCESS);
    CHECK(TAQUIN_Layout_set_part(columns, target_begin, target_part) == MPI_SUCCESS);
  }
  CHECK(TAQUIN_Redistribute_layout_in_place(c, rows, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_part(rows, source_begin, rank == 0 ? target_part : source_part) == MPI_SUCCESS);
  CHECK(TAQUIN_Redistribute_layout(a, rows, b, columns, axes, MPI_DOUBLE, MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "different extents") != NULL);
  CHECK((TAQUIN_Layout_elements_moved(rows, columns, axes, &moved) != MPI_SUCCESS) == (rank == 0));
  CHECK(TAQUIN_Layout_set_part(rows, NULL, NULL) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_part(columns, NULL, NULL) == MPI_SUCCESS);
  CHECK(TAQUIN_Layout_set_part(TAQUIN_LAYOUT_NULL, NULL, NULL) != MPI_SUCCESS);
  /* A part that is not inside, and a null layout on one rank: the error of all. */
  const MPI_Count begin[2] = {20, 0}, part[2] = {4, 1};
  CHECK(TAQUIN_Redistribute_layout_part(a, rows, begin, b, columns, NULL, part, axes, MPI_DOUBLE, MPI_COMM_WORLD) !=
        MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "dimension 0 of the source") != NULL);
  CHECK(TAQUIN_Redistribute_layout(a, rank == ranks - 1 ? TAQUIN_LAYOUT_NULL : rows, b, columns, axes, MPI_DOUBLE,
                                   MPI_COMM_WORLD) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "null layout") != NULL);
  elements_are_found(rows, a);
  CHECK(TAQUIN_Layout_free(&rows) == MPI_SUCCESS && TAQUIN_Layout_free(&columns) == MPI_SUCCESS);
  free(a);
  free(b);
  free(c);
  MPI_Finalize();
  return failures > 0;
}
