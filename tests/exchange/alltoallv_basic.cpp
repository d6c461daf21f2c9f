#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "algorithms/algorithm.hpp"
#include "taquin/taquin.hpp"

namespace taquin {
namespace {

TEST(alltoallv, every_algorithm_gives_the_mpi_librarys_result) {
  int rank = 0;
  int p = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  const auto n = static_cast<std::size_t>(p);
  std::vector<count_t> sc(n), sd(n), rc(n), rd(n);
  count_t st = 0, rt = 0;
  for (int i = 0; i < p; ++i) {
    const auto k = static_cast<std::size_t>(i);
    sc[k] = (rank * 7 + i * 3) % 5;
    rc[k] = (i * 7 + rank * 3) % 5;
    sd[k] = st, rd[k] = rt;
    st += sc[k] + 1, rt += rc[k] + 1;
  }
  std::vector<int> send(static_cast<std::size_t>(st));
  for (std::size_t i = 0; i < send.size(); ++i) send[i] = rank * 1000 + static_cast<int>(i);
  std::vector<int> want(static_cast<std::size_t>(rt), -1);
  alltoallv(send.data(), sc.data(), sd.data(), MPI_INT, want.data(), rc.data(), rd.data(), MPI_INT, MPI_COMM_WORLD,
            {.algorithm = "native"});
  for (const auto* a : detail::algorithms()) {
    if (!a->supports({.ranks = p, .kind = exchange::form::alltoallv, .uniform = false})) continue;
    std::vector<int> recv(static_cast<std::size_t>(rt), -1);
    statistics st2;
    alltoallv(send.data(), sc.data(), sd.data(), MPI_INT, recv.data(), rc.data(), rd.data(), MPI_INT, MPI_COMM_WORLD,
              {.algorithm = a->name, .stats = &st2});
    EXPECT_EQ(recv, want) << a->name;
    plan pl(exchange::alltoallv(send.data(), count_view(sc.data()), count_view(sd.data()), MPI_INT, recv.data(),
                                count_view(rc.data()), count_view(rd.data()), MPI_INT, MPI_COMM_WORLD),
            {.algorithm = a->name});
    for (int k = 0; k < 3; ++k) {
      recv.assign(recv.size(), -1);
      pl.start();
      while (!pl.test()) {
      }
      EXPECT_EQ(recv, want) << a->name;
    }
  }
}

}  // namespace
}  // namespace taquin
