#include "algorithms/nodes/level_choice.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/level_part.hpp"
#include "algorithms/nodes/level_shapes.hpp"
#include "base/sizes.hpp"
#include "model/terms.hpp"

namespace taquin::detail {

namespace {

// Between groups, or inside a group without groups.
seconds cost_of_one(const algorithm& a, shape x, const options& o, const machine_model& m, bool between) noexcept {
  x.nodes = between ? x.ranks : 1;
  x.largest_node = between ? 1 : x.ranks;
  return cost_inside(a, x, o, m);
}

// Bytes that an average rank moves inside its group and in one column.
struct halves {
  shape in, across;
  halves(const shape& s, const terms& t) noexcept : in(inside_of(s, s.largest_node)), across(column_of(s)) {
    const auto bytes = static_cast<std::uint64_t>(t.busiest());
    fill(in, t.ranks() / s.largest_node * t.mean_block(), bytes);
    fill(across, s.largest_node * t.mean_block(), bytes);
  }
  static void fill(shape& x, double block, std::uint64_t bytes) noexcept {
    x.max_block_bytes = static_cast<std::uint64_t>(std::ceil(block));
    x.max_rank_bytes = x.max_received_bytes = bytes;
    if (x.uniform) x.min_block_bytes = x.max_block_bytes;
  }
};

bool serves_any_sizes(const algorithm& a) noexcept {
  return a.serves_inside && a.supports({.ranks = 2, .kind = exchange::form::alltoallv, .uniform = false});
}

// The first of `names` unless that is "auto".
void add_best(const shape& x, const options& o, const machine_model& m, std::string_view names, bool between,
              level_names& to) noexcept {
  if (!is_automatic(names)) return to.add(names.substr(0, names.find(',')));
  const algorithm* best = nullptr;
  int best_radix = 0;
  seconds least = std::numeric_limits<seconds>::infinity();
  for (const algorithm* a : algorithms()) {
    if (!serves_any_sizes(*a)) continue;
    for (int radix = 0; radix <= std::min(x.ranks, 64); radix = radix == 0 ? 2 : 2 * radix) {
      options own = o;
      if (radix > 0) own.bruck.radix = radix;
      const seconds time = cost_of_one(*a, x, own, m, between);
      if (best != nullptr && time >= least) continue;
      best = a;
      best_radix = radix;
      least = time;
    }
  }
  if (best != nullptr) to.add(best->name, best_radix);
}

void add_levels(const shape& s, const options& o, const machine_model& m, std::string_view names, bool between,
                level_names& to) noexcept {
  if (s.nodes == 0 || s.largest_node == 1) return add_best(s, o, m, names, between && s.nodes > 0, to);
  if (s.nodes == 1) {  // there is no exchange between groups
    to.add("spread_out");
    return add_levels(one_group(s), o, m, after_first(names), false, to);
  }
  const halves h(s, terms(s, m));
  add_best(h.across, o, m, names, between, to);
  add_levels(h.in, o, m, after_first(names), false, to);
}

}  // namespace

void level_names::add(std::string_view name, int radix) noexcept {
  std::array<char, 16> digits{':'};
  const auto written = std::to_chars(digits.data() + 1, digits.data() + digits.size(), radix);
  const std::string_view base(digits.data(), radix > 0 ? as_size(written.ptr - digits.data()) : 0);
  if (size_ + 1 + name.size() + base.size() >= text_.size()) return;  // the last one serves all levels that remain
  if (size_ > 0) text_[size_++] = ',';
  for (const std::string_view part : {name, base}) size_ += part.copy(text_.data() + size_, part.size());
}

bool any_automatic(std::string_view levels) noexcept {
  for (std::string_view rest = levels;; rest = after_first(rest)) {
    if (is_automatic(rest)) return true;
    if (after_first(rest) == rest) return false;
  }
}

level_names choose_levels(const shape& s, const options& o, const machine_model& m) noexcept {
  level_names names;
  if (s.nodes == 0) {  // a caller without nodes has one
    names.add("spread_out");
    add_levels(s, o, m, after_first(o.multilevel.levels), false, names);
  } else {
    add_levels(s, o, m, o.multilevel.levels, true, names);
  }
  return names;
}

// A rank of the smallest group is in several columns.
seconds cost_of_levels(const shape& s, const options& o, const machine_model& m, std::string_view names,
                       bool between) noexcept {
  const options own = options_of_first(o, names);
  if (s.nodes == 0) return cost_of_one(first_of(names), s, own, m, false);
  if (s.nodes == 1) return cost_of_levels(one_group(s), o, m, after_first(names), false);
  if (s.largest_node == 1) return cost_of_one(first_of(names), s, own, m, between);
  const terms t(s, m);
  const halves h(s, t);
  return cost_of_levels(h.in, o, m, after_first(names), false) +
         level_part::columns_of(s.smallest_node, s.largest_node) *
             cost_of_one(first_of(names), h.across, own, m, between) +
         t.packs(3 * t.ranks(), 3 * t.busiest());
}

options with_levels(const shape& s, const options& o, const machine_model& m, level_names& names) noexcept {
  options own = o;
  if (!any_automatic(o.multilevel.levels)) return own;
  names = choose_levels(s, o, m);
  own.multilevel.levels = names.view();
  return own;
}

}  // namespace taquin::detail
