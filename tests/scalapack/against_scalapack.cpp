// p?gemr2d and p?trmr2d on random problems: every byte of the target as ScaLAPACK's own functions leave it.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "scalapack/matrices.hpp"

namespace taquin::test {
namespace {

struct matrix_problem {
  int m, n;  // of what moves
  int ia, ja, ib, jb;
};

class scalapack : public testing::Test {
 protected:
  scalapack() {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    std::vector<int> all(static_cast<std::size_t>(ranks_));
    std::iota(all.begin(), all.end(), 0);
    rows_ = ranks_ % 2 == 0 ? 2 : 1;
    all_ = std::make_unique<blacs_grid>(rows_, ranks_ / rows_, all);
    make_grids();
  }

  int pick(int a, int b) { return a + static_cast<int>(random_() % static_cast<std::uint32_t>(b - a + 1)); }

  // Grids are made once: BLACS makes communicators for each.
  struct placed_grid {
    int rows, columns;
    std::unique_ptr<blacs_grid> grid;
  };
  void make_grids() {
    random_.seed(1);
    for (int k = 0; k < 5; ++k) {
      const int rows = pick(1, ranks_);
      const int columns = pick(1, ranks_ / rows);
      std::vector<int> all(static_cast<std::size_t>(ranks_));
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), random_);
      all.resize(static_cast<std::size_t>(rows * columns));
      grids_.push_back({rows, columns, std::make_unique<blacs_grid>(rows, columns, all)});
    }
  }

  // Both functions on the same arrays.
  template <class Ours, class Theirs>
  void compare(std::size_t element, Ours ours, Theirs theirs, std::uint32_t seed) {
    random_.seed(seed);
    const matrix_problem p{pick(1, 40), pick(1, 40), pick(1, 5), pick(1, 5), pick(1, 5), pick(1, 5)};
    const placed_grid& ga = grids_[static_cast<std::size_t>(pick(0, 4))];
    distribution a(*ga.grid, p.m + p.ia - 1 + pick(0, 3), p.n + p.ja - 1 + pick(0, 3), pick(1, 9), pick(1, 9),
                   pick(0, ga.rows - 1), pick(0, ga.columns - 1), pick(0, 2));
    const placed_grid& gb = grids_[static_cast<std::size_t>(pick(0, 4))];
    distribution b(*gb.grid, p.m + p.ib - 1 + pick(0, 3), p.n + p.jb - 1 + pick(0, 3), pick(1, 9), pick(1, 9),
                   pick(0, gb.rows - 1), pick(0, gb.columns - 1), pick(0, 2));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (seed % 2 == 1) {  // as ScaLAPACK's own tester has them
      if (rank == 0) a.descriptor[0] = b.descriptor[0] = 0;
      for (auto* d : {&a, &b})
        if ((d == &a ? ga : gb).grid->rows_of(d->descriptor[2], d->descriptor[4], d->descriptor[6]) == 0)
          d->descriptor[8] = 0;
    }
    std::vector<unsigned char> from(a.elements * element + 1);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<unsigned char>(i * 7 + static_cast<std::size_t>(rank) * 31);
    std::vector<unsigned char> got(b.elements * element + 1, 0xab);
    std::vector<unsigned char> want(got);
    const int context = all_->context();
    ours(p, from.data(), a.descriptor.data(), got.data(), b.descriptor.data(), context);
    theirs(p, from.data(), a.descriptor.data(), want.data(), b.descriptor.data(), context);
    ASSERT_TRUE(got == want) << "seed " << seed << ", rank " << rank << ": " << p.m << " x " << p.n;
  }

  void compare_general(std::size_t element, gemr2d* ours, const char* name, std::uint32_t seed) {
    const auto call = [](gemr2d* f) {
      return [f](const matrix_problem& p, void* a, const int* da, void* b, const int* db, int context) {
        f(p.m, p.n, a, p.ia, p.ja, da, b, p.ib, p.jb, db, context);
      };
    };
    compare(element, call(ours), call(of_scalapack<gemr2d>(name)), seed);
  }
  void compare_triangular(std::size_t element, trmr2d* ours, const char* name, std::uint32_t seed) {
    for (const char* uplo : {"U", "L"})
      for (const char* diag : {"N", "U"}) {
        const auto call = [&](trmr2d* f) {
          return [=](const matrix_problem& p, void* a, const int* da, void* b, const int* db, int context) {
            f(uplo, diag, p.m, p.n, a, p.ia, p.ja, da, b, p.ib, p.jb, db, context);
          };
        };
        SCOPED_TRACE(std::string(uplo) + diag);
        compare(element, call(ours), call(of_scalapack<trmr2d>(name)), seed);
      }
  }

  int ranks_ = 1;
  int rows_ = 1;
  std::mt19937 random_;
  std::unique_ptr<blacs_grid> all_;
  std::vector<placed_grid> grids_;
};

TEST_F(scalapack, random_matrices_arrive_as_with_scalapack) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    compare_general(8, Cpdgemr2d, "Cpdgemr2d", seed);
    compare_general(4, Cpsgemr2d, "Cpsgemr2d", seed + 1000);
    compare_general(8, Cpcgemr2d, "Cpcgemr2d", seed + 2000);
    compare_general(16, Cpzgemr2d, "Cpzgemr2d", seed + 3000);
    compare_general(4, Cpigemr2d, "Cpigemr2d", seed + 4000);
  }
}

TEST_F(scalapack, random_trapezoids_arrive_as_with_scalapack) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    compare_triangular(8, Cpdtrmr2d, "Cpdtrmr2d", seed);
    compare_triangular(16, Cpztrmr2d, "Cpztrmr2d", seed + 1000);
    compare_triangular(4, Cpitrmr2d, "Cpitrmr2d", seed + 2000);
  }
}

// By the name that Fortran programs call.
TEST_F(scalapack, fortran_name_moves_the_same) {
  const auto call = [](const matrix_problem& p, void* a, const int* da, void* b, const int* db, int context) {
    pdgemr2d_(&p.m, &p.n, a, &p.ia, &p.ja, da, b, &p.ib, &p.jb, db, &context);
  };
  const auto theirs = [](const matrix_problem& p, void* a, const int* da, void* b, const int* db, int context) {
    of_scalapack<gemr2d>("Cpdgemr2d")(p.m, p.n, a, p.ia, p.ja, da, b, p.ib, p.jb, db, context);
  };
  for (std::uint32_t seed = 1; seed <= 5; ++seed) compare(8, call, theirs, seed);
}

}  // namespace
}  // namespace taquin::test
