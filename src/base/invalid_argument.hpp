// What is wrong with one rank's arguments.
#pragma once

#include <mpi.h>

#include <string>

namespace taquin::detail {

struct invalid_argument {
  std::string what;
  int mpi_class = MPI_ERR_ARG;
  int peer = -1;  ///< whose block is wrong; -1: not one peer's
};

/// Memory that has run out, told to all ranks as a wrong argument is.
inline invalid_argument out_of_memory() { return {"out of memory", MPI_ERR_NO_MEM}; }

}  // namespace taquin::detail
