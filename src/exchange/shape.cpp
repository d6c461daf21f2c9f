#include "exchange/shape.hpp"

#include <algorithm>

namespace taquin::detail {

void describe(const topology& t, shape& s) {
  s.nodes = t.levels.empty() ? 0 : t.nodes().groups();
  s.largest_node = t.levels.empty() ? 1 : t.nodes().largest();
  s.smallest_node = t.levels.empty() ? 1 : t.nodes().smallest();
  s.levels_inside = std::max(static_cast<int>(t.levels.size()) - 1, 0);
  for (std::size_t l = 1; l < t.levels.size(); ++l)
    s.inside.at(l - 1) = {t.most_groups(l), t.levels[l].largest(), t.levels[l].smallest()};
}

}  // namespace taquin::detail
