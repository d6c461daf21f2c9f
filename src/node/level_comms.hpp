// The communicators of an exchange that goes level by level: inside groups, and between them.
#pragma once

#include <memory>
#include <vector>

#include "mpi/communicator.hpp"
#include "node/detect.hpp"

namespace taquin::detail {

/// Groups are connected by columns, as many as the largest group has ranks. Column c has one rank of each group, by
/// group: the one of local index c mod the group's size. A rank of a small group is thus in several.
struct level_comms {
  mpi::communicator::lease inside;                ///< the ranks of this rank's group, in rank order
  std::vector<mpi::communicator::lease> columns;  ///< those that this rank is in, in increasing order
  node_view next;                                 ///< the levels inside the group; no level where there are none
};

/// Made by the first call, which is collective over `comm`, and kept with the view.
const level_comms& level_comms_of(const mpi::communicator& comm, const node_view& view);

/// Calls f(c) with each column of a group's rank of this local index.
template <class F>
void for_each_column(int index, int size, int columns, F f) {
  for (int c = index; c < columns; c += size) f(c);
}

}  // namespace taquin::detail
