#include "exchange/shape.hpp"

#include <algorithm>

namespace taquin::detail {

namespace {

// Of facts that a shape does not have there is nothing to set.
#define TAQUIN_FACT(NAME, COMBINE)                                                     \
  void set_##NAME(auto& s, std::uint64_t value) {                                      \
    if constexpr (requires { s.NAME; }) s.NAME = static_cast<decltype(s.NAME)>(value); \
  }
#define TAQUIN_FLAG(NAME, COMBINE)                      \
  void set_##NAME(auto& s, bool value) {                \
    if constexpr (requires { s.NAME; }) s.NAME = value; \
  }
#include "exchange/facts.def"

}  // namespace

void describe(const rank_facts& all, shape& s) {
#define TAQUIN_FACT(NAME, COMBINE) set_##NAME(s, all.NAME);
#define TAQUIN_FLAG(NAME, COMBINE) set_##NAME(s, all.NAME);
#include "exchange/facts.def"
  s.one_unit = s.unit_size > 0;
}

void describe(const topology& t, shape& s) {
  s.nodes = t.levels.empty() ? 0 : t.nodes().groups();
  s.largest_node = t.levels.empty() ? 1 : t.nodes().largest();
  s.smallest_node = t.levels.empty() ? 1 : t.nodes().smallest();
  s.levels_inside = std::max(static_cast<int>(t.levels.size()) - 1, 0);
  for (std::size_t l = 1; l < t.levels.size(); ++l)
    s.inside.at(l - 1) = {t.most_groups(l), t.levels[l].largest(), t.levels[l].smallest()};
}

}  // namespace taquin::detail
