// Finds the nodes of a communicator, once for each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/invalid_argument.hpp"
#include "mpi/communicator.hpp"
#include "mpi/owned.hpp"
#include "node/channel.hpp"
#include "node/shared_scratch.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

struct level_comms;

/// A communicator's topology, with the ranks of the caller's node as a communicator of their own.
struct node_view {
  detail::topology topology;
  mpi::owned_comm local;   ///< the node's ranks in rank order
  std::vector<int> given;  ///< the node sizes that it was made from; empty: detected
  /// The node's shared memory for blocking calls, which follow one another; it grows as they need more.
  mutable shared_scratch blocking{};
  mutable std::size_t blocking_share = 0;              ///< of each rank, identical on all nodes
  mutable channel reading{};                           ///< the result of channel_of_node
  mutable bool reading_tried = false;                  ///< there may be none
  mutable std::vector<std::byte> bookkeeping{};        ///< while it is made
  mutable bool shares = true;                          ///< false once ranks of a node could not have shared memory
  mutable std::shared_ptr<const level_comms> comms{};  ///< the result of level_comms_of
};

/// The error in node sizes given by options::nodes or, where that is empty, by TAQUIN_NODES, which describes
/// MPI_COMM_WORLD; empty if there is none. Local.
std::optional<invalid_argument> check_nodes(const mpi::communicator& comm, std::span<const int> option);

/// The nodes as given, or as detected: by shared memory, and inside by hwloc if it is installed. The first call (for
/// the given sizes) is collective; all ranks give the same sizes, which check_nodes has passed. Kept with the
/// communicator.
std::shared_ptr<const node_view> nodes_of(mpi::communicator& comm, std::span<const int> option);

/// The result of an earlier nodes_of, or null. Local.
const node_view* known_nodes(const mpi::communicator& comm) noexcept;

/// The channel of the ranks of this rank's node, with room for their offers: those of calls in which the ranks of a
/// node read each other's memory. Null where they cannot. The first call is collective among them; it allocates nothing
/// that one rank might lack. Kept with the view.
channel* channel_of_node(const node_view& view);

/// The lowest rank on each rank's machine, whatever nodes were given. Collective.
std::vector<int> first_ranks_of_machines(MPI_Comm comm);

/// The ranks on this rank's node, in order, of a communicator of all ranks of MPI_COMM_WORLD: as TAQUIN_NODES
/// specifies, or those of its machine. None where TAQUIN_NODES does not fit. Collective.
std::vector<int> ranks_of_node(MPI_Comm world);

/// This rank's node as a communicator, in rank order. Collective.
mpi::owned_comm split_by_nodes(const mpi::communicator& comm, const topology& t);

/// The binding of this process: the numbers of its package and its last-level cache on this machine; −1 if it may run
/// on several, or if that is not known. Detected once.
struct binding {
  int package = -1;
  int cache = -1;
};
binding binding_of_process();

}  // namespace taquin::detail
