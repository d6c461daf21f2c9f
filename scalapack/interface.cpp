// The names that ScaLAPACK has: for Fortran with an underscore behind, for C with a C before.
#include <mpi.h>

#include "scalapack/redistribute_matrix.hpp"

namespace taquin::scalapack {

namespace {

using general = void(int, int, void*, int, int, const int*, void*, int, int, const int*, int);
using triangular = void(const char*, const char*, int, int, void*, int, int, const int*, void*, int, int, const int*,
                        int);

void next_general(const matrix_call& c, void* function) {
  reinterpret_cast<general*>(function)(c.rows, c.columns, c.from.data, c.from.row, c.from.column, c.from.descriptor,
                                       c.to.data, c.to.row, c.to.column, c.to.descriptor, c.context);
}

void next_triangular(const matrix_call& c, void* function) {
  reinterpret_cast<triangular*>(function)(&c.triangle, &c.diagonal, c.rows, c.columns, c.from.data, c.from.row,
                                          c.from.column, c.from.descriptor, c.to.data, c.to.row, c.to.column,
                                          c.to.descriptor, c.context);
}

}  // namespace

// A function of C for elements of TYPE, and the same for Fortran.
#define TAQUIN_GEMR2D(LETTER, TYPE)                                                                                  \
  void Cp##LETTER##gemr2d(int m, int n, void* a, int ia, int ja, const int* desca, void* b, int ib, int jb,          \
                          const int* descb, int context) {                                                           \
    redistribute(                                                                                                    \
        {"Cp" #LETTER "gemr2d", TYPE, m, n, {a, ia, ja, desca}, {b, ib, jb, descb}, context, 0, 'N', next_general}); \
  }                                                                                                                  \
  void p##LETTER##gemr2d_(const int* m, const int* n, void* a, const int* ia, const int* ja, const int* desca,       \
                          void* b, const int* ib, const int* jb, const int* descb, const int* context) {             \
    Cp##LETTER##gemr2d(*m, *n, a, *ia, *ja, desca, b, *ib, *jb, descb, *context);                                    \
  }
#define TAQUIN_TRMR2D(LETTER, TYPE)                                                                                    \
  void Cp##LETTER##trmr2d(const char* uplo, const char* diag, int m, int n, void* a, int ia, int ja, const int* desca, \
                          void* b, int ib, int jb, const int* descb, int context) {                                    \
    redistribute({"Cp" #LETTER "trmr2d",                                                                               \
                  TYPE,                                                                                                \
                  m,                                                                                                   \
                  n,                                                                                                   \
                  {a, ia, ja, desca},                                                                                  \
                  {b, ib, jb, descb},                                                                                  \
                  context,                                                                                             \
                  *uplo,                                                                                               \
                  *diag,                                                                                               \
                  next_triangular});                                                                                   \
  }                                                                                                                    \
  void p##LETTER##trmr2d_(const char* uplo, const char* diag, const int* m, const int* n, void* a, const int* ia,      \
                          const int* ja, const int* desca, void* b, const int* ib, const int* jb, const int* descb,    \
                          const int* context) {                                                                        \
    Cp##LETTER##trmr2d(uplo, diag, *m, *n, a, *ia, *ja, desca, b, *ib, *jb, descb, *context);                          \
  }

extern "C" {
#define TAQUIN_ELEMENT(LETTER, TYPE) TAQUIN_GEMR2D(LETTER, TYPE) TAQUIN_TRMR2D(LETTER, TYPE)
TAQUIN_ELEMENT(s, MPI_FLOAT)
TAQUIN_ELEMENT(d, MPI_DOUBLE)
TAQUIN_ELEMENT(c, MPI_C_FLOAT_COMPLEX)
TAQUIN_ELEMENT(z, MPI_C_DOUBLE_COMPLEX)
TAQUIN_ELEMENT(i, MPI_INT)
}

}  // namespace taquin::scalapack
