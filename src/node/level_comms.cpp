#include "node/level_comms.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "mpi/check.hpp"
#include "mpi/collectives.hpp"
#include "mpi/groups.hpp"

namespace taquin::detail {

namespace {

// Columns [first, last), which have no rank in common: at most as many as the smallest group has ranks. The one of them
// that this rank is in, or null. Collective over `comm`. `ranks` has space for one of each group.
MPI_Comm make_columns(const mpi::communicator& comm, const level& groups, int first, int last, std::span<int> ranks) {
  const auto rank = as_size(comm.rank());
  const int size = groups.size(groups.group[rank]);
  const int column = first + (groups.index[rank] + size - first % size) % size;
  if (column >= last) return mpi::create_groups(comm, {}, first).release();
  for (int g = 0; g < groups.groups(); ++g) ranks[as_size(g)] = groups.member(g, column % groups.size(g));
  return mpi::create_groups(comm, ranks, first).release();
}

}  // namespace

const level_comms& level_comms_of(const mpi::communicator& comm, const node_view& view) {
  if (view.comms != nullptr) return *view.comms;
  auto made = std::make_shared<level_comms>();
  const level& groups = view.topology.nodes();
  std::vector<int> ranks(as_size(groups.groups()));
  std::vector<MPI_Comm> columns;
  const int largest = groups.largest();
  const int apart = groups.smallest();
  columns.reserve(as_size(largest));
  const auto members = groups.members(groups.group[as_size(comm.rank())]);
  // All from one communicator: if two threads make communicators, Open MPI 4.1 serves the one whose parent is the older
  // first, and ranks that make theirs from different parents would wait for each other.
  const MPI_Comm own = mpi::together(comm.get(), [&] {
    const MPI_Comm copy = mpi::create_groups(comm, members, comm.size()).release();
    for (int first = 0; first < largest; first += apart)
      columns.push_back(make_columns(comm, groups, first, std::min(first + apart, largest), ranks));
    return copy;
  });
  try {
    made->columns.reserve(columns.size());
    made->inside = mpi::communicator::adopt(own);
    for (const MPI_Comm column : columns)
      if (column != MPI_COMM_NULL) made->columns.push_back(mpi::communicator::adopt(column));
    made->next.topology = view.topology.inside(groups.group[as_size(comm.rank())]);
    if (!made->next.topology.levels.empty()) made->next.local = split_by_nodes(*made->inside, made->next.topology);
  } catch (...) {  // other ranks may send on them already
    if (made->inside != nullptr) made->inside->outlive();
    for (const auto& column : made->columns) column->outlive();
    throw;
  }
  view.comms = made;
  return *made;
}

}  // namespace taquin::detail
