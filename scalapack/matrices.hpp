// Matrices on grids of the BLACS, for the tests and the benchmark beside ScaLAPACK.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridmap(int* context, int* ranks, int leading, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
}

namespace taquin::test {

/// A grid of these ranks of MPI_COMM_WORLD, column by column. Collective over all of them; others have no context.
class blacs_grid {
 public:
  blacs_grid(int rows, int columns, std::vector<int> ranks) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridmap(&context_, ranks.data(), rows, rows, columns);
    if (std::ranges::find(ranks, rank) == ranks.end())
      context_ = -1;
    else
      Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  blacs_grid(const blacs_grid&) = delete;
  blacs_grid& operator=(const blacs_grid&) = delete;
  ~blacs_grid() {
    if (context_ >= 0) Cblacs_gridexit(context_);
  }
  [[nodiscard]] int context() const { return context_; }
  /// Elements of a dimension that this rank has.
  [[nodiscard]] int rows_of(int n, int block, int first) const { return count(n, block, row_, first, rows_); }
  [[nodiscard]] int columns_of(int n, int block, int first) const { return count(n, block, column_, first, columns_); }

 private:
  [[nodiscard]] int count(int n, int block, int at, int first, int processes) const {
    if (context_ < 0) return 0;
    int mine = 0;
    for (int b = (at - first + processes) % processes; b * block < n; b += processes)
      mine += std::min(block, n - b * block);
    return mine;
  }
  int context_ = -1;
  int rows_ = 0, columns_ = 0, row_ = -1, column_ = -1;
};

/// A matrix's distribution on this rank.
struct distribution {
  std::array<int, 9> descriptor{};
  std::size_t elements = 0;  ///< of the local array

  distribution(const blacs_grid& g, int m, int n, int mb, int nb, int rsrc, int csrc, int more = 0) {
    const int rows = g.rows_of(m, mb, rsrc) + more;
    descriptor = {1, g.context(), m, n, mb, nb, rsrc, csrc, std::max(rows, 1)};
    elements = static_cast<std::size_t>(descriptor[8]) * static_cast<std::size_t>(g.columns_of(n, nb, csrc));
  }
};

/// ScaLAPACK's own function of this name.
template <class Function>
Function* of_scalapack(const char* name) {
  void* const library = dlopen(TAQUIN_SCALAPACK, RTLD_LAZY);
  void* const found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "no %s: %s\n", name, dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

using gemr2d = void(int, int, void*, int, int, const int*, void*, int, int, const int*, int);
using trmr2d = void(const char*, const char*, int, int, void*, int, int, const int*, void*, int, int, const int*, int);

}  // namespace taquin::test

extern "C" {
taquin::test::gemr2d Cpdgemr2d, Cpsgemr2d, Cpcgemr2d, Cpzgemr2d, Cpigemr2d;
taquin::test::trmr2d Cpdtrmr2d, Cpztrmr2d, Cpitrmr2d;
void pdgemr2d_(const int*, const int*, void*, const int*, const int*, const int*, void*, const int*, const int*,
               const int*, const int*);
}
