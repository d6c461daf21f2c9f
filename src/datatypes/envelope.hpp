// How a datatype was made: MPI_Type_get_envelope, or MPI 4's form of it, which also knows types that were made with
// large counts. The other is an error for those.
#pragma once

#include <mpi.h>

#include "mpi/check.hpp"

namespace taquin::detail {

/// The combiner, and how many arguments MPI_Type_get_contents tells.
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
