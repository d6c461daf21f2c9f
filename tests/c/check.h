/* What programs of the C API check, and how many checks have failed. */
#ifndef TAQUIN_TEST_CHECK_H
#define TAQUIN_TEST_CHECK_H

#include <mpi.h>
#include <stdio.h>

#include "taquin/taquin.h"

static int rank, ranks, failures;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      ++failures;                                                                                  \
      fprintf(stderr, "rank %d, line %d: %s fails (last error: %s)\n", rank, __LINE__, #condition, \
              TAQUIN_Last_error());                                                                \
    }                                                                                              \
  } while (0)
#define CHECK_OK(call) CHECK((call) == MPI_SUCCESS)

static inline int class_of(int code) {
  int mpi_class = -1;
  MPI_Error_class(code, &mpi_class);
  return mpi_class;
}

/* The beginning of a program whose errors return, and its end: the exit status, the same on all ranks. */
static inline void begin(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}
static inline int end(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}

#endif
