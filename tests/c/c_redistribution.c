/* Redistributions in C99: the option least_progress, and sorting by destination. */
#include <mpi.h>
#include <string.h>

#include "check.h"

enum { blocks = 60 };

/* Moves all blocks but one dead one to the rank above, by parking, and returns the bytes that it has copied. */
static uint64_t copied_in_a_shift(MPI_Comm comm, double least_progress) {
  static double data[blocks];
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  TAQUIN_Statistics statistics = TAQUIN_STATISTICS_INIT;
  TAQUIN_Redistribution r = TAQUIN_REDISTRIBUTION_NULL;
  int k, to[blocks], at[blocks];
  for (k = 0; k < blocks; ++k) data[k] = blocks * rank + k, to[k] = (rank + 1) % ranks, at[k] = k;
  to[blocks - 1] = -1;
  options.least_progress = least_progress;
  CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
  CHECK_OK(TAQUIN_Redistribution_create(data, blocks, 1, MPI_DOUBLE, comm, "parking", TAQUIN_UNLIMITED, &r));
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, blocks, to, at));
  for (k = 0; k < blocks - 1; ++k) CHECK(data[k] == blocks * ((rank + ranks - 1) % ranks) + k);
  CHECK_OK(TAQUIN_Redistribution_get_statistics(r, &statistics));
  CHECK_OK(TAQUIN_Redistribution_free(&r));
  CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
  MPI_Allreduce(MPI_IN_PLACE, &statistics.bytes_copied, 1, MPI_UINT64_T, MPI_SUM, comm);
  return statistics.bytes_copied;
}

static void little_progress_makes_an_algorithm_hand_over(MPI_Comm comm) {
  const uint64_t without = copied_in_a_shift(comm, 0), with = copied_in_a_shift(comm, 0.1);
  CHECK(ranks < 3 || with * 4 < without);
}

static void a_part_of_progress_is_agreed_on(MPI_Comm comm) {
  static const double wrong[] = {-0.1, 1.5};
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  TAQUIN_Redistribution r;
  double block = rank;
  size_t k;
  for (k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
    options.least_progress = rank == ranks - 1 ? wrong[k] : 0.5;
    CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
    CHECK(class_of(TAQUIN_Redistribution_create(&block, 1, 1, MPI_DOUBLE, comm, NULL, TAQUIN_UNLIMITED, &r)) ==
          MPI_ERR_ARG);
    CHECK(strstr(TAQUIN_Last_error(), "least_progress must be between 0 and 1") != NULL);
  }
  if (ranks > 1) {
    options.least_progress = rank == 0 ? 0.25 : 0.5;
    CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
    CHECK(TAQUIN_Redistribution_create(&block, 1, 1, MPI_DOUBLE, comm, NULL, TAQUIN_UNLIMITED, &r) != MPI_SUCCESS);
  }
  options.least_progress = 0.75;
  CHECK_OK(TAQUIN_Comm_set_options(comm, &options));
  options.least_progress = 0;
  CHECK_OK(TAQUIN_Comm_get_options(comm, &options));
  CHECK(options.least_progress == 0.75);
  CHECK_OK(TAQUIN_Comm_set_options(comm, NULL));
  CHECK_OK(TAQUIN_Comm_get_options(comm, &options));
  CHECK(options.least_progress == 0);
}

static void blocks_are_sorted_by_destination(MPI_Comm comm) {
  TAQUIN_Redistribution r = TAQUIN_REDISTRIBUTION_NULL;
  int data[2 * blocks], to[blocks], at[blocks], seen[blocks], k;
  for (k = 0; k < blocks; ++k) {
    to[k] = (7 * k + rank) % (ranks + 1) - 1; /* -1: dead */
    at[k] = 10 * k;
    data[2 * k] = k, data[2 * k + 1] = -k;
    seen[k] = 0;
  }
  CHECK_OK(TAQUIN_Redistribution_create(data, blocks, 2, MPI_INT, comm, NULL, TAQUIN_UNLIMITED, &r));
  /* Refused with everything as before: another length, and a rank that does not exist. */
  CHECK(class_of(TAQUIN_Redistribution_sort(r, blocks - 1, to, at)) == MPI_ERR_COUNT);
  CHECK(class_of(TAQUIN_Redistribution_sort(r, blocks, NULL, at)) == MPI_ERR_ARG);
  to[3] = ranks;
  CHECK(class_of(TAQUIN_Redistribution_sort(r, blocks, to, at)) == MPI_ERR_RANK);
  for (k = 0; k < blocks; ++k) CHECK(data[2 * k] == k && at[k] == 10 * k);
  to[3] = (7 * 3 + rank) % (ranks + 1) - 1;
  CHECK_OK(TAQUIN_Redistribution_sort(r, blocks, to, at));
  for (k = 0; k < blocks; ++k) {
    CHECK(k == 0 || to[k] == -1 || (to[k - 1] != -1 && to[k - 1] <= to[k]));
    if (to[k] == -1) continue;
    CHECK(data[2 * k] == at[k] / 10 && data[2 * k + 1] == -data[2 * k]);
    CHECK(to[k] == (7 * data[2 * k] + rank) % (ranks + 1) - 1);
    CHECK(seen[data[2 * k]]++ == 0);
  }
  for (k = 0; k < blocks; ++k) CHECK(seen[k] == ((7 * k + rank) % (ranks + 1) != 0));
  CHECK_OK(TAQUIN_Redistribution_start(r, 0, to, at));
  CHECK(class_of(TAQUIN_Redistribution_sort(r, blocks, to, at)) == MPI_ERR_REQUEST);
  CHECK_OK(TAQUIN_Redistribution_wait(r));
  CHECK_OK(TAQUIN_Redistribution_free(&r));
}

int main(int argc, char **argv) {
  begin(&argc, &argv);
  little_progress_makes_an_algorithm_hand_over(MPI_COMM_WORLD);
  a_part_of_progress_is_agreed_on(MPI_COMM_WORLD);
  blocks_are_sorted_by_destination(MPI_COMM_WORLD);
  return end();
}
