// Prints the sizes of the nodes as taquin sees them: "1,4,2,8".
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <vector>

#include "node/detect.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    auto& comm = taquin::mpi::communicator::get_or_create(MPI_COMM_WORLD);
    const auto view = taquin::detail::nodes_of(comm, {});
    const auto& nodes = view->topology.nodes();
    std::vector<int> sizes;
    for (int g = 0; g < nodes.groups(); ++g) sizes.push_back(nodes.size(g));
    if (comm.rank() == 0) fmt::print("{}\n", fmt::join(sizes, ","));
  }
  MPI_Finalize();
}
