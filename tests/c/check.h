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

#endif
