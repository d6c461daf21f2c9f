// bad_descriptor WHAT: a matrix goes to the last rank; a descriptor, an argument or the limit of rank 1 is invalid, or
// differs from that of the others. All ranks end with a reason.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "scalapack/matrices.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "limit" && rank == 1) setenv("TAQUIN_MEMORY", "100", 1);
  std::vector<int> members;
  for (int k = 0; k < ranks; ++k) members.push_back(k);
  {
    using namespace taquin::test;
    constexpr int n = 50;
    constexpr int block = 7;
    const blacs_grid all(1, ranks, members);
    const blacs_grid one(1, 1, {ranks - 1});
    distribution from(all, n, n, block, block, 0, 0);
    distribution to(one, n, n, n, n, 0, 0);
    std::vector<double> a(from.elements, 1.0);
    std::vector<double> b(to.elements, -1.0);
    if (what == "type" && rank == 1) from.descriptor[0] = 501;
    if (what == "context" && rank == 1) from.descriptor[1] = 77;
    if (what == "grid" && rank == ranks - 1) to.descriptor[1] = -1;
    const auto one_is = [&](const char* name, int usual, int other) {
      return what == name && rank == 1 ? other : usual;
    };
    from.descriptor[2] = one_is("rows", n, n + 1);
    from.descriptor[4] = one_is("block", block, block - 1);
    from.descriptor[6] = one_is("source", 0, -1);
    const int m = one_is("m", n, n - 1);
    const int columns = one_is("empty", n, 0);
    if (what == "triangle")
      Cpdtrmr2d(rank == 1 ? "L" : "U", "N", n, n, a.data(), 1, 1, from.descriptor.data(), b.data(), 1, 1,
                to.descriptor.data(), all.context());
    Cpdgemr2d(m, columns, a.data(), one_is("first", 1, 2), 1, from.descriptor.data(), b.data(), 1, 1,
              to.descriptor.data(), all.context());
    for (const double v : b)
      if (v != 1.0) std::printf("a wrong element\n");
  }
  MPI_Finalize();
  std::printf("no error\n");
  return 0;
}
