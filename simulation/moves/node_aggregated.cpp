#include "algorithms/nodes/node_aggregated.hpp"

#include <utility>
#include <vector>

#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

// Drawn for nodes whose ranks can share memory.
std::size_t moves_of_node_aggregated(const whole_exchange& x, const shape& s, const options& o,
                                     const moves_target& to) {
  if (nothing_to_gather(s) || x.nodes == nullptr) return add_moves(spread_out, x, s, o, to);
  auto* memory = std::pmr::new_delete_resource();
  const level& nodes = x.nodes->nodes();
  const aggregation how = aggregation_through_memory(s, o);
  std::vector<schedule> all;
  for (int rank = 0; rank < x.ranks(); ++rank) {
    const int node = nodes.group[as_size(rank)];
    std::pmr::vector<count_t> to_node;
    std::pmr::vector<count_t> from;
    for (const int member : nodes.members(node)) {
      for (int other = 0; other < nodes.groups(); ++other) {
        to_node.push_back(0);
        for (const int peer : nodes.members(other)) to_node.back() += x.bytes(member, peer);
      }
      for (int peer = 0; peer < x.ranks(); ++peer) from.push_back(x.bytes(peer, member));
    }
    const auto traffic = s.uniform ? node_traffic(nodes, node, static_cast<count_t>(s.max_block_bytes), memory)
                                   : node_traffic(nodes, node, std::move(to_node), std::move(from));
    const known_part part = x.part(rank);
    local_exchange mine = part.local();
    mine.nodes = x.nodes;
    all.push_back(how.distances > 0 ? build_shared(mine, nodes, traffic, how, memory)
                                    : build_aggregated(mine, nodes, traffic, aggregation_by_messages(s, o), memory));
  }
  if (how.distances > 0) to.all.note = "Drawn as where the ranks of each node can share memory.";
  return add_schedules(x, all, to);
}

}  // namespace taquin::detail
