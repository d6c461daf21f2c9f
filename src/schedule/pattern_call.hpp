// The collectives and permutations of taquin/patterns.hpp, for interfaces on top of the library.
#pragma once

#include <mpi.h>

#include "schedule/collectives.hpp"
#include "taquin/patterns.hpp"

namespace taquin::detail {

/// The arguments of a collective.
struct pattern_call {
  collective what;
  const void* send = nullptr;
  void* recv = nullptr;
  count_t count = 0;
  MPI_Datatype type = MPI_BYTE;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  const char* invalid_text = nullptr;  ///< that the interface has found on this rank; all ranks throw it
  bool reads = true;                   ///< this rank's send buffer
  bool writes = true;                  ///< this rank's receive buffer
};

/// One of the collectives but scan_elements. Collective, blocking.
void run_pattern(pattern_call c, MPI_Comm comm);
/// patterns::scan_elements; `c.what` is scan.
void scan_all_elements(const pattern_call& c, MPI_Comm comm);
/// patterns::permute with the buffers, the count and the type of `c`.
void run_permutation(patterns::permutation kind, int by, const pattern_call& c, MPI_Comm comm);

}  // namespace taquin::detail
