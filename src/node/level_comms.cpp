#include "node/level_comms.hpp"

#include <vector>

#include "mpi/check.hpp"

namespace taquin::detail {

namespace {

// Collective over the column's ranks only. Each rank makes its columns in increasing order, so that of those that are
// not made yet the lowest can always be.
mpi::communicator::lease make_column(MPI_Comm comm, const level& groups, int column) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(groups.groups()));
  for (int g = 0; g < groups.groups(); ++g) ranks.push_back(groups.member(g, column % groups.size(g)));
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_group(comm, &all));
  TAQUIN_MPI(MPI_Group_incl(all, groups.groups(), ranks.data(), &some));
  TAQUIN_MPI(MPI_Comm_create_group(comm, some, column, &made));
  TAQUIN_MPI(MPI_Group_free(&some));
  TAQUIN_MPI(MPI_Group_free(&all));
  return mpi::communicator::adopt(made);
}

}  // namespace

const level_comms& level_comms_of(const mpi::communicator& comm, const node_view& view) {
  if (view.comms != nullptr) return *view.comms;
  auto made = std::make_shared<level_comms>();
  const level& groups = view.topology.nodes();
  const auto rank = static_cast<std::size_t>(comm.rank());
  const int group = groups.group[rank];
  MPI_Comm own = MPI_COMM_NULL;
  TAQUIN_MPI(MPI_Comm_dup(view.local.get(), &own));
  made->inside = mpi::communicator::adopt(own);
  for_each_column(groups.index[rank], groups.size(group), groups.largest(),
                  [&](int c) { made->columns.push_back(make_column(comm.get(), groups, c)); });
  made->next.topology = view.topology.inside(group);
  if (!made->next.topology.levels.empty()) made->next.local = split_by_nodes(*made->inside, made->next.topology);
  view.comms = made;
  return *made;
}

}  // namespace taquin::detail
