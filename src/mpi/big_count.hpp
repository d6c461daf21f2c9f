// Messages of more elements than an int can count.
//
// The supported MPI libraries take int counts (MPI 3) or have a second set of functions (MPI 4). taquin uses one method
// on both: a message of more elements than `count_limit()` becomes one element of a derived type that holds them.
#pragma once

#include <mpi.h>

#include "mpi/owned.hpp"
#include "taquin/types.hpp"

namespace taquin::mpi {

/// The most elements that one MPI call gets as a plain count. 2^31 − 1 unless TAQUIN_COUNT_LIMIT (read once) lowers it,
/// which the tests do to exercise large counts with small data.
count_t count_limit();

/// `count` elements of `type` as arguments for an MPI call. `owner` keeps the derived type alive, where one is needed.
struct counted {
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  datatype owner;
};
counted make_counted(count_t count, MPI_Datatype type);

/// A datatype's size, and its extents with their lower bounds, whatever their number of bits: MPI_Type_size_x and the
/// like, whose names MPI 4.1 deprecates for those of MPI 4.
struct span_of_type {
  count_t lb = 0;
  count_t extent = 0;
};
count_t size_of(MPI_Datatype type);
span_of_type extent_of(MPI_Datatype type);
span_of_type true_extent_of(MPI_Datatype type);
/// The bytes of a message, by its status; MPI_UNDEFINED if the MPI library cannot compute them.
count_t bytes_of(const MPI_Status& status);

/// A committed type of `count` consecutive elements of `type`, any 64-bit count.
datatype contiguous(count_t count, MPI_Datatype type);

}  // namespace taquin::mpi
