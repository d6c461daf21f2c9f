// The error in one rank's arguments.
#pragma once

#include <mpi.h>

#include <string>

namespace taquin::detail {

struct invalid_argument {
  std::string what;
  int mpi_class = MPI_ERR_ARG;
  int peer = -1;  ///< whose block is wrong; -1: not one peer's
};

/// Memory exhaustion, published to all ranks as a wrong argument is.
inline invalid_argument out_of_memory() { return {"out of memory", MPI_ERR_NO_MEM}; }

/// The error of an interface on top of the library that lacks memory itself.
inline constexpr const char* lacks_memory_text = "out of memory";
inline constexpr const char* uncommitted_text = "a datatype that MPI_Type_commit has not been called for";
inline constexpr const char* in_place_receive_text =
    "MPI_IN_PLACE as the receive buffer: only the send buffer may be MPI_IN_PLACE";
/// The error that such an interface has found.
inline invalid_argument of_interface(const char* invalid_text) {
  if (invalid_text == lacks_memory_text) return out_of_memory();
  if (invalid_text == uncommitted_text) return {uncommitted_text, MPI_ERR_TYPE};
  if (invalid_text == in_place_receive_text) return {in_place_receive_text, MPI_ERR_BUFFER};
  return {invalid_text, MPI_ERR_ARG};
}

}  // namespace taquin::detail
