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

}  // namespace taquin::detail
