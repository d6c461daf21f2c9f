#include "node/level_comms.hpp"

#include <vector>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/groups.hpp"

namespace taquin::detail {

namespace {

// Collective over the column's ranks only. Each rank makes its columns in increasing order, so that of those that are
// not made yet the lowest can always be.
MPI_Comm make_column(MPI_Comm comm, const level& groups, int column, std::vector<int>& ranks) {
  for (int g = 0; g < groups.groups(); ++g) ranks[as_size(g)] = groups.member(g, column % groups.size(g));
  return mpi::create_group(comm, ranks, column).release();
}

}  // namespace

const level_comms& level_comms_of(const mpi::communicator& comm, const node_view& view) {
  if (view.comms != nullptr) return *view.comms;
  auto made = std::make_shared<level_comms>();
  const level& groups = view.topology.nodes();
  const auto rank = as_size(comm.rank());
  const int group = groups.group[rank];
  std::vector<int> ranks(as_size(groups.groups()));
  std::vector<MPI_Comm> columns(as_size(groups.largest()), MPI_COMM_NULL);
  const MPI_Comm own = mpi::together(comm.get(), [&] {
    MPI_Comm copy = MPI_COMM_NULL;
    TAQUIN_MPI(PMPI_Comm_dup(view.local.get(), &copy));
    for_each_column(groups.index[rank], groups.size(group), groups.largest(),
                    [&](int c) { columns[as_size(c)] = make_column(comm.get(), groups, c, ranks); });
    return copy;
  });
  made->inside = mpi::communicator::adopt(own);
  for (const MPI_Comm column : columns)
    if (column != MPI_COMM_NULL) made->columns.push_back(mpi::communicator::adopt(column));
  made->next.topology = view.topology.inside(group);
  if (!made->next.topology.levels.empty()) made->next.local = split_by_nodes(*made->inside, made->next.topology);
  view.comms = made;
  return *made;
}

}  // namespace taquin::detail
