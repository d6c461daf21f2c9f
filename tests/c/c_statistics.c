/* Statistics of communicators, plans and redistributions, and the version, from C99. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#if TAQUIN_VERSION_NUMBER != TAQUIN_VERSION_MAJOR * 10000 + TAQUIN_VERSION_MINOR * 100 + TAQUIN_VERSION_PATCH
#error "the version's number is not made of its parts"
#endif

static void the_version_is_of_its_parts(void) {
  char made[32];
  sprintf(made, "%d.%d.%d", TAQUIN_VERSION_MAJOR, TAQUIN_VERSION_MINOR, TAQUIN_VERSION_PATCH);
  CHECK(strcmp(made, TAQUIN_VERSION) == 0);
}

static void a_communicator_counts_its_calls_when_requested(int *send, int *recv) {
  TAQUIN_Options options = TAQUIN_OPTIONS_INIT;
  TAQUIN_Statistics s = TAQUIN_STATISTICS_INIT, short_one = TAQUIN_STATISTICS_INIT;
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK_OK(TAQUIN_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  CHECK_OK(TAQUIN_Comm_get_statistics(comm, &s));
  CHECK(s.starts == 0 && s.algorithm[0] == '\0');

  CHECK_OK(TAQUIN_Comm_set_statistics(comm, 1));
  options.algorithm = "pairwise";
  CHECK_OK(TAQUIN_Comm_set_options(comm, &options)); /* keeps the counts */
  CHECK_OK(TAQUIN_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  CHECK_OK(TAQUIN_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  CHECK_OK(TAQUIN_Comm_get_statistics(comm, &s));
  CHECK(s.starts == 2 && strcmp(s.algorithm, "pairwise") == 0);
  CHECK(s.messages == 2 * (uint64_t)(ranks - 1) && s.rounds >= s.messages);
  CHECK(s.bytes_sent == s.messages * sizeof(int) && s.bytes_copied == 2 * sizeof(int) && s.peak_memory > 0);

  CHECK(s.requests_time == 0 && s.data_time == 0 && s.update_time == 0);

  MPI_Comm_dup(comm, &copy); /* its options, but counts of its own */
  CHECK_OK(TAQUIN_Comm_get_statistics(copy, &s));
  CHECK(s.starts == 0);
  MPI_Comm_free(&copy);
  short_one.size = offsetof(TAQUIN_Statistics, rounds);
  short_one.rounds = 77;
  CHECK_OK(TAQUIN_Comm_get_statistics(comm, &short_one)); /* of a program that knows fewer fields */
  CHECK(short_one.starts == 2 && short_one.rounds == 77);
  CHECK(TAQUIN_Comm_get_statistics(comm, NULL) != MPI_SUCCESS);
  short_one.size = 0;
  CHECK(TAQUIN_Comm_get_statistics(comm, &short_one) != MPI_SUCCESS);
  CHECK_OK(TAQUIN_Comm_set_statistics(comm, 0));
  CHECK_OK(TAQUIN_Comm_get_statistics(comm, &s));
  CHECK(s.starts == 0);
  MPI_Comm_free(&comm);
}

static void plans_and_redistributions_count_their_starts(int *send, int *recv) {
  TAQUIN_Statistics s = TAQUIN_STATISTICS_INIT;
  TAQUIN_Plan plan;
  TAQUIN_Redistribution r;
  int i, to = (rank + 1) % ranks, at = 0, value = rank;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "taquin_algorithm", "spread_out");
  CHECK_OK(TAQUIN_Alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, info, &plan));
  MPI_Info_free(&info);
  for (i = 0; i < 3; ++i) {
    CHECK_OK(TAQUIN_Start(plan));
    CHECK_OK(TAQUIN_Wait(plan));
  }
  CHECK_OK(TAQUIN_Plan_get_statistics(plan, &s));
  CHECK(s.starts == 3 && strcmp(s.algorithm, "spread_out") == 0 && s.messages == 3 * (uint64_t)(ranks - 1));
  CHECK_OK(TAQUIN_Plan_free(&plan));
  CHECK(TAQUIN_Plan_get_statistics(TAQUIN_PLAN_NULL, &s) != MPI_SUCCESS);

  CHECK_OK(TAQUIN_Redistribution_create(&value, 1, 1, MPI_INT, MPI_COMM_WORLD, NULL, TAQUIN_UNLIMITED, &r));
  CHECK_OK(TAQUIN_Redistribution_redistribute(r, 1, &to, &at));
  CHECK(value == (rank + ranks - 1) % ranks);
  CHECK_OK(TAQUIN_Redistribution_get_statistics(r, &s));
  CHECK(s.starts == 1 && s.algorithm[0] != '\0' && (ranks == 1 || s.peak_memory > 0));
  CHECK_OK(TAQUIN_Redistribution_free(&r));
}

int main(int argc, char **argv) {
  int i;
  int *send, *recv;
  begin(&argc, &argv);
  send = malloc(sizeof(int) * (size_t)ranks), recv = malloc(sizeof(int) * (size_t)ranks);
  for (i = 0; i < ranks; ++i) send[i] = rank;
  the_version_is_of_its_parts();
  a_communicator_counts_its_calls_when_requested(send, recv);
  plans_and_redistributions_count_their_starts(send, recv);
  free(send), free(recv);
  return end();
}
