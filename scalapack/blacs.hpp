// The BLACS of the program: process grids and their communicators. The functions are looked up in what the program has
// loaded.
#pragma once

#include <mpi.h>

#include <span>

namespace taquin::scalapack {

/// A function of the program's, or null.
void* find_function(const char* name);

/// A process grid, as the calling rank sees it.
struct grid {
  int rows = -1;  ///< −1: this rank is not in the context
  int columns = -1;
  int row = -1;
  int column = -1;
  [[nodiscard]] bool has_this_rank() const noexcept { return row >= 0; }
};

/// Throws usage_error where the program has no BLACS.
grid grid_of(int context);
/// The communicator that the context was made of. Its ranks include all of the context's.
MPI_Comm parent_of(int context);
/// The maximum over all ranks of the context, number by number; none is negative. Collective over the context.
void maximum(int context, std::span<int> numbers);
/// A communicator of these ranks of `parent`, in this order; kept with `parent`. Collective over these ranks.
MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks);

}  // namespace taquin::scalapack
