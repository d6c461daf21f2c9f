/* Migration in the C API: of one array and of several, with room and without, and their errors. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { N = 60 };

static int owner(int from, int k) { return (from * 7 + k * k) % ranks; }
static int items_of(int from) { return N + from; }

struct particles {
  double *x;  /* three of each */
  char *kind; /* in pairs of a char and a gap */
  int *number;
  MPI_Count room;
};

static struct particles made(MPI_Count room) {
  struct particles p = {malloc(sizeof(double) * 3 * (size_t)room), malloc(2 * (size_t)room),
                        malloc(sizeof(int) * (size_t)room), room};
  memset(p.kind, '-', 2 * (size_t)room);
  for (int k = 0; k < items_of(rank); ++k) {
    for (int d = 0; d < 3; ++d) p.x[3 * k + d] = rank * 1000 + k + 0.25 * d;
    p.kind[2 * k] = (char)(rank + k);
    p.number[k] = rank * 1000 + k;
  }
  return p;
}

static void release(struct particles p) {
  free(p.x);
  free(p.kind);
  free(p.number);
}

/* All items of all ranks that this rank owns, by source and position. */
static void check_moved(struct particles p, MPI_Count arrived, int single) {
  MPI_Count at = 0;
  for (int r = 0; r < ranks; ++r)
    for (int k = 0; k < items_of(r); ++k) {
      if (owner(r, k) != rank) continue;
      if (at < arrived) {
        CHECK(p.number[at] == r * 1000 + k);
        for (int d = 0; d < 3 && !single; ++d) CHECK(p.x[3 * at + d] == r * 1000 + k + 0.25 * d);
        CHECK(single || p.kind[2 * at] == (char)(r + k));
      }
      ++at;
    }
  CHECK(at == arrived);
}

static void check_kept(struct particles p) {
  for (int k = 0; k < items_of(rank); ++k)
    CHECK(p.number[k] == rank * 1000 + k && p.x[3 * k + 2] == rank * 1000 + k + 0.5 &&
          p.kind[2 * k] == (char)(rank + k));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Count items = items_of(rank), room = (MPI_Count)(N + ranks) * ranks;
  int *to = malloc(sizeof *to * (size_t)items);
  for (int k = 0; k < items; ++k) to[k] = owner(rank, k);
  MPI_Datatype gapped, open_type;
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &gapped);
  MPI_Type_commit(&gapped);
  MPI_Type_contiguous(3, MPI_DOUBLE, &open_type); /* not committed */
  MPI_Count arrived = -1;

  struct particles p = made(room);
  CHECK_OK(TAQUIN_Migrate(p.number, items, room, 1, MPI_INT, to, comm, &arrived));
  check_moved(p, arrived, 1);
  release(p);

  p = made(room);
  TAQUIN_Array all[3] = {{p.x, 3, MPI_DOUBLE, room}, {p.kind, 1, gapped, room}, {p.number, 1, MPI_INT, room}};
  TAQUIN_Statistics statistics = TAQUIN_STATISTICS_INIT;
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  CHECK_OK(TAQUIN_Comm_set_statistics(comm, 1));

  /* An error of one rank is the error of all, and every array is kept. */
  TAQUIN_Array wrong[3] = {all[0], all[1], all[2]};
  const int last = rank == ranks - 1;
  if (last) wrong[1].type = MPI_DATATYPE_NULL;
  CHECK(TAQUIN_Migrate_arrays(3, wrong, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "null datatype") != NULL);
  wrong[1] = all[1];
  if (last) wrong[2].capacity = items - 1;
  CHECK(TAQUIN_Migrate_arrays(3, wrong, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "room for fewer items") != NULL);
  wrong[2] = all[2];
  if (last) wrong[0].data = NULL;
  CHECK(TAQUIN_Migrate_arrays(3, wrong, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "null address of an array") != NULL);
  CHECK(TAQUIN_Migrate_arrays(last ? 0 : 3, all, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "no arrays") != NULL);
  CHECK(TAQUIN_Migrate_arrays(3, all, last ? -1 : items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(TAQUIN_Migrate_arrays(3, all, items, last ? NULL : to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "null destinations") != NULL);
  CHECK(TAQUIN_Migrate_arrays(3, all, items, to, comm, last ? NULL : &arrived) != MPI_SUCCESS);
  wrong[0] = all[0];
  wrong[0].type = open_type;
  wrong[0].item_length = 1;
  CHECK(TAQUIN_Migrate_arrays(3, last ? wrong : all, items, to, comm, &arrived) != MPI_SUCCESS);
  wrong[0] = all[0];
  wrong[0].item_length = last ? 2 : 3; /* ranks disagree */
  if (ranks > 1) {
    CHECK(TAQUIN_Migrate_arrays(3, wrong, items, to, comm, &arrived) != MPI_SUCCESS);
    CHECK(strstr(TAQUIN_Last_error(), "disagree") != NULL);
    CHECK(TAQUIN_Migrate_arrays(last ? 2 : 3, all, items, to, comm, &arrived) != MPI_SUCCESS);
  }
  const int kept = to[0];
  if (last) to[0] = ranks;
  CHECK(TAQUIN_Migrate_arrays(3, all, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "goes to rank") != NULL);
  to[0] = kept;
  CHECK(TAQUIN_Migrate_arrays(3, all, items, to, MPI_COMM_NULL, &arrived) != MPI_SUCCESS);
  options.memory = last ? 1000 : TAQUIN_UNLIMITED;
  CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
  CHECK(TAQUIN_Migrate_arrays(3, all, items, to, comm, &arrived) != MPI_SUCCESS);
  CHECK(strstr(TAQUIN_Last_error(), "at least") != NULL);
  CHECK(strstr(TAQUIN_Last_error(), "are as good as no limit") != NULL);
  /* Without room: the error, and the number of items. */
  if (ranks > 1) {
    int class = 0;
    int zeros[N + 64] = {0};
    TAQUIN_Array tight[3] = {all[0], all[1], all[2]};
    CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
    for (int a = 0; a < 3; ++a) tight[a].capacity = items;
    MPI_Error_class(TAQUIN_Migrate_arrays(3, tight, items, zeros, comm, &arrived), &class);
    CHECK(class == MPI_ERR_COUNT && arrived == (rank == 0 ? (MPI_Count)N * ranks + ranks * (ranks - 1) / 2 : 0));
  }
  check_kept(p);

  /* Within a limit, the formula of the header. */
  release(p);
  p = made(room);
  all[0].data = p.x;
  all[1].data = p.kind;
  all[2].data = p.number;
  const size_t m = (size_t)items * 24;
  options.memory = 4608 + 300 * (size_t)ranks + 24 + (m < 16384 ? m : 16384);
  CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
  CHECK_OK(TAQUIN_Comm_set_statistics(comm, 1));
  CHECK_OK(TAQUIN_Migrate_arrays(3, all, items, to, comm, &arrived));
  check_moved(p, arrived, 0);
  for (int k = 0; k < items; ++k) CHECK(p.kind[2 * k + 1] == '-');
  CHECK_OK(TAQUIN_Comm_get_statistics(comm, &statistics));
  CHECK(statistics.starts == 1 && statistics.peak_memory <= options.memory && statistics.peak_memory > 0);
  CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
  CHECK_OK(TAQUIN_Comm_set_statistics(comm, 0));
  release(p);
  free(to);
  MPI_Type_free(&gapped);
  MPI_Type_free(&open_type);
  MPI_Finalize();
  return failures > 0;
}
