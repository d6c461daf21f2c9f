/* What the programs of these tests check with. */
#pragma once

#include <mpi.h>
#include <stdio.h>

static int world_rank;

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, world_rank, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static int class_of(int code) {
  int mpi_class = 0;
  MPI_Error_class(code, &mpi_class);
  return mpi_class;
}
