// node_aggregated's moves as data: gather inside the nodes, one message per pair of nodes, scatter inside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "schedule/schedule.hpp"
#include "topology/topology.hpp"

namespace taquin::detail {

/// How many bytes travel between ranks, as far as one node's ranks must know: between the node's ranks and all others.
class node_traffic {
 public:
  /// All blocks have the same size.
  node_traffic(const level& nodes, int node, count_t block_bytes, std::pmr::memory_resource* memory);
  /// Any sizes: from each rank of the node to each node, and to each rank of the node from every rank, in bytes.
  node_traffic(const level& nodes, int node, std::pmr::vector<count_t> to_node, std::pmr::vector<count_t> from);

  /// From the node's rank of local index i to all ranks of another node.
  [[nodiscard]] count_t to_node(int i, int other) const noexcept;
  /// From any rank to the node's rank of local index i.
  [[nodiscard]] count_t from(int rank, int i) const noexcept;
  [[nodiscard]] bool uniform() const noexcept { return to_node_.empty(); }

 private:
  const level* nodes_;
  int size_;
  count_t block_;
  std::pmr::vector<count_t> to_node_;  // [local index][node]
  std::pmr::vector<count_t> from_;     // [local index][rank]
};

/// How the work is divided.
struct aggregation {
  int distances = 1;  ///< that a pass serves
  int leaders = 0;    ///< ranks of a node that exchange messages with other nodes; 0: all

  /// Those of a node of `size` ranks.
  [[nodiscard]] constexpr int leaders_of(int size) const noexcept {
    return leaders > 0 ? std::min(leaders, size) : size;
  }
  /// Nodes at distance d send to the d-th node after them. The local rank that does so in a node of `size` ranks.
  [[nodiscard]] constexpr int handler(int distance, int size) const noexcept {
    return (distance - 1) % leaders_of(size);
  }
  /// At least the local ranks whose data a leader handles for `all` distances, counted for each distance, in nodes of
  /// at most `most` ranks: ⌈all/l⌉·n of n ranks with l leaders.
  [[nodiscard]] constexpr std::size_t handled(std::size_t all, std::size_t most) const noexcept {
    const auto led = as_size(leaders_of(static_cast<int>(most)));
    return all == 0 ? 0 : std::max(all + most, (all + led - 1) / led * most);
  }
};

/// Passes of some distances each, three rounds a pass.
schedule build_aggregated(const local_exchange& x, const level& nodes, const node_traffic& traffic,
                          const aggregation& how, std::pmr::memory_resource* memory);

/// The same through memory that the ranks of a node share: a rank writes its blocks there, one message per pair of
/// nodes is sent from there and received there, and the ranks copy their blocks from it. Three rounds a pass; a rank
/// that is alone on its node uses its own buffers.
schedule build_shared(const local_exchange& x, const level& nodes, const node_traffic& traffic, const aggregation& how,
                      std::pmr::memory_resource* memory);

/// Upper bounds of such a schedule's size, for any rank.
struct aggregated_size {
  schedule_size parts;
  std::size_t scratch = 0;
  std::size_t staging = 0;
};
aggregated_size size_of_aggregated(const shape& s, const aggregation& how) noexcept;
/// `scratch` is a rank's share of the node's memory, or the staging of a rank that is alone.
aggregated_size size_of_shared(const shape& s, const aggregation& how) noexcept;

}  // namespace taquin::detail
