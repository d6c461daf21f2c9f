// A (part of a) matrix from one block-cyclic distribution to another, as ScaLAPACK's p?gemr2d and p?trmr2d define it.
#pragma once

#include <mpi.h>

namespace taquin::scalapack {

/// A local array, the first row and column of the part, counted from 1, and the descriptor.
struct matrix {
  void* data;
  int row;
  int column;
  const int* descriptor;
};

struct matrix_call {
  const char* name;
  MPI_Datatype type;
  int rows;
  int columns;
  matrix from;
  matrix to;
  int context;  ///< of all ranks of both matrices
  /// Of p?trmr2d: 'U' or 'L', and 'U' for a diagonal that is not moved. 0: all is moved.
  char triangle = 0;
  char diagonal = 'N';
  [[nodiscard]] bool is_empty() const noexcept { return rows <= 0 || columns <= 0; }
  /// Does it as ScaLAPACK does; null: the program has no other function of this name.
  void (*next)(const matrix_call&, void* function) = nullptr;
};

/// Collective over the context. An error is printed and ends the program, as one of the BLACS does: these functions
/// have no way to return it.
void redistribute(const matrix_call& call) noexcept;

}  // namespace taquin::scalapack
