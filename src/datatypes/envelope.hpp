// How a datatype was made: MPI_Type_get_envelope, or where there is one MPI 4's form of it, without which types that
// were made with large counts are an error.
#pragma once

#include <mpi.h>

#include "mpi/check.hpp"

namespace taquin::detail {

/// The combiner, and the numbers of arguments that MPI_Type_get_contents returns.
struct envelope {
  int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
  MPI_Count ints = 0, places = 0, counts = 0, types = 0;
  explicit envelope(MPI_Datatype type) {
    TAQUIN_MPI(PMPI_Type_get_envelope_c(type, &ints, &places, &counts, &types, &combiner));
  }
#else
  static constexpr int counts = 0;
  int ints = 0, places = 0, types = 0;
  explicit envelope(MPI_Datatype type) { TAQUIN_MPI(PMPI_Type_get_envelope(type, &ints, &places, &types, &combiner)); }
#endif
};

}  // namespace taquin::detail
