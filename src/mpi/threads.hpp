// How many threads of the program may call the MPI library concurrently.
#pragma once

#include <mpi.h>

#include "mpi/check.hpp"

namespace taquin::mpi {

/// MPI was started with MPI_THREAD_MULTIPLE, and provides it. Local; between MPI_Init and MPI_Finalize.
inline bool has_many_threads() {
  int provided = MPI_THREAD_SINGLE;
  TAQUIN_MPI(PMPI_Query_thread(&provided));
  return provided == MPI_THREAD_MULTIPLE;
}

}  // namespace taquin::mpi
