// A plugin with taquin inside, for copies.cpp.
#include <mpi.h>

#include <numeric>
#include <vector>

#include "taquin/alltoall.hpp"

/// An exchange that uses the nodes of a communicator of its own. 0: the received data are right, and calls after that
/// find the same nodes.
extern "C" int exchange_by_nodes() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  int wrong = 0;
  for (int call = 0; call < 3; ++call) {
    std::vector<int> send(static_cast<std::size_t>(ranks));
    std::vector<int> recv(send.size(), -1);
    for (int to = 0; to < ranks; ++to) send[static_cast<std::size_t>(to)] = rank * ranks + to + call;
    taquin::alltoall(send.data(), 1, MPI_INT, recv.data(), 1, MPI_INT, comm, {.algorithm = "node_aggregated"});
    for (int from = 0; from < ranks; ++from)
      wrong += recv[static_cast<std::size_t>(from)] == from * ranks + rank + call ? 0 : 1;
  }
  MPI_Comm_free(&comm);
  return wrong;
}
