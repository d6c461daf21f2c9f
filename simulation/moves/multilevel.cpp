#include <algorithm>
#include <vector>

#include "algorithms/nodes/level_choice.hpp"
#include "algorithms/nodes/level_shapes.hpp"
#include "base/sizes.hpp"
#include "simulation/moves.hpp"
#include "simulation/whole.hpp"

namespace taquin::detail {

// One level of nodes: the exchange inside each node, then all columns together.
std::size_t moves_of_multilevel(const whole_exchange& x, const shape& s, const options& requested,
                                const moves_target& to) {
  level_names chosen;
  const options o = with_levels(s, requested, machine_model::built_in(), chosen);
  const auto leaf = [&](std::string_view names, const whole_exchange& y, const shape& t, const moves_target& at) {
    return add_moves(first_of(names), y, t, options_of_first(o, names), at);
  };
  if (x.nodes == nullptr || s.largest_node <= 1) return leaf(o.multilevel.levels, x, one_group(s), to);
  const level& nodes = x.nodes->nodes();
  if (nodes.groups() == 1) return leaf(after_first(o.multilevel.levels), x, one_group(s), to);
  std::size_t middle = to.first + 1;
  std::vector<whole_moves::kept> mid;  // the blocks on a rank between the two exchanges
  for (int g = 0; g < nodes.groups(); ++g) {
    const int n = nodes.size(g);
    whole_exchange in(n);
    in.traced = x.traced;
    std::vector<int> members;
    for (int i = 0; i < n; ++i) {
      const int rank = nodes.member(g, i);
      members.push_back(to.members[as_size(rank)]);
      to.all.copy(to.first, {members.back(), x.sent(rank), place::send, place::scratch});
      for (int peer = 0; peer < x.ranks(); ++peer)
        in.add(i, nodes.index[as_size(peer)] % n, x, rank, peer, 0, x.bytes(rank, peer));
    }
    middle = std::max(middle, leaf(after_first(o.multilevel.levels), in, inside_of(s, n), {to.all, members, to.first}));
    for (int i = 0; i < n; ++i) mid.push_back({members[as_size(i)], in.received(i)});
  }
  for (const auto& k : mid) to.all.keep(middle - 1, k);
  std::size_t end = middle + 1;
  for (int c = 0; c < nodes.largest(); ++c) {
    whole_exchange across(nodes.groups());
    across.traced = x.traced;
    std::vector<int> members;
    for (int g = 0; g < nodes.groups(); ++g) {
      members.push_back(to.members[as_size(nodes.member(g, c % nodes.size(g)))]);
      for (int there = 0; there < nodes.groups(); ++there)
        for (const int rank : nodes.members(g))
          if (c < nodes.size(there))
            across.add(g, there, x, rank, nodes.member(there, c), 0, x.bytes(rank, nodes.member(there, c)));
      to.all.copy(middle, {members.back(), across.sent(g), place::scratch, place::scratch});
    }
    end = std::max(end, leaf(o.multilevel.levels, across, column_of(s), {to.all, members, middle}));
  }
  for (int rank = 0; rank < x.ranks(); ++rank)
    to.all.copy(end - 1, {to.members[as_size(rank)], x.received(rank), place::scratch, place::recv});
  return end;
}

}  // namespace taquin::detail
