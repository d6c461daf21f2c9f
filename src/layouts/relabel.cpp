// Which ranks hold which positions of a target, so that few elements change ranks.
//
// Source: Kabić, Pintarelli, Kozhevnikov, VandeVondele, COSTA: Communication-Optimal Shuffle and Transpose Algorithm
// with Process Relabeling, §3.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "layouts/assignment.hpp"
#include "layouts/common.hpp"
#include "layouts/shape.hpp"
#include "taquin/error.hpp"

namespace taquin {

namespace detail {

namespace {

// The elements that each rank of the source and each position of the target have in common: for each axis the indices
// that two coordinates have in common, whose products are those of ranks and positions.
class common_elements {
 public:
  common_elements(const layout& from, const layout& to, const layout_options& o) : from_(from) {
    const layout_shape shape(from, to, o, std::pmr::new_delete_resource());
    for (std::size_t d = 0; d < shape.problem.axes.size(); ++d) {
      const moved_axis& a = shape.problem.axes[d];
      const std::size_t there = o.axes.empty() ? d : as_size(o.axes[d]);
      axis one{layout_access::grid_stride(from, d), layout_access::grid_stride(to, there), there, {}};
      count_t pairs = 0;
      for (int receiver = 0; receiver < a.to->processes; ++receiver) {
        one.of_receiver.push_back(common_parts(a, receiver, false));
        pairs += static_cast<count_t>(one.of_receiver.back().size());
      }
      axes_.push_back(std::move(one));
      pairs_ = pairs_ * pairs;
      total_ *= a.extent;
    }
  }

  [[nodiscard]] count_t total() const noexcept { return total_; }
  /// Pairs of a position and a rank that have elements in common; more than fit are many.
  [[nodiscard]] checked pairs() const noexcept { return pairs_; }
  /// Calls f(elements, position of the target, rank of the source) for each of them.
  template <class F>
  void each(F f) const {
    walk(0, 1, 0, 0, f);
  }
  /// Elements that the positions at these coordinates of the source and of the target have in common.
  [[nodiscard]] count_t between(std::span<const int> sender, std::span<const int> receiver) const {
    count_t elements = 1;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const auto& parts = axes_[d].of_receiver[as_size(receiver[axes_[d].in_target])];
      const auto at = std::ranges::lower_bound(parts, sender[d], {}, &common_part::process);
      if (at == parts.end() || at->process != sender[d]) return 0;
      elements *= at->indices;
    }
    return elements;
  }
  /// Calls f as each() does, for at most about `most` heavy pairs of each position: of each axis the heaviest parts.
  template <class F>
  void each_heavy(const layout& to, count_t most, F f) {
    for (axis& a : axes_) {
      for (auto& parts : a.of_receiver) {
        std::ranges::stable_sort(parts, std::ranges::greater{}, &common_part::indices);
        const auto lighter =
            std::ranges::find_if(parts, [&](const common_part& c) { return c.indices < parts.front().indices; });
        a.equal.push_back(as_size(lighter - parts.begin()));
      }
    }
    std::vector<int> at(axes_.size());
    const auto positions = static_cast<int>(to.processes());
    for (int position = 0; position < positions; ++position) {
      layout_access::coordinates_at(to, position, at);
      heavy(0, most, 1, 0, position, at, f);
    }
    for (axis& a : axes_)
      for (auto& parts : a.of_receiver) std::ranges::sort(parts, {}, &common_part::process);
  }

 private:
  struct axis {
    std::size_t from_stride;  // of a coordinate in the number of a position
    std::size_t to_stride;
    std::size_t in_target;                              // the dimension there
    std::vector<std::vector<common_part>> of_receiver;  // by coordinate
    std::vector<std::size_t> equal{};                   // heaviest ones, once they are sorted by weight
  };

  template <class F>
  void walk(std::size_t d, count_t elements, std::size_t sender, std::size_t receiver, F& f) const {
    if (d == axes_.size()) return f(elements, static_cast<int>(receiver), layout_access::rank_at(from_, sender));
    const axis& a = axes_[d];
    for (std::size_t r = 0; r < a.of_receiver.size(); ++r)
      for (const common_part& c : a.of_receiver[r])
        walk(d + 1, elements * c.indices, sender + as_size(c.process) * a.from_stride, receiver + r * a.to_stride, f);
  }

  // Parts of equal weight are taken from another one on for each position, so that positions do not all name the same.
  template <class F>
  void heavy(std::size_t d, count_t most, count_t elements, std::size_t sender, int position, std::span<const int> at,
             F& f) const {
    if (d == axes_.size()) return f(elements, position, layout_access::rank_at(from_, sender));
    const axis& a = axes_[d];
    const auto receiver = as_size(at[a.in_target]);
    const auto& parts = a.of_receiver[receiver];
    if (parts.empty()) return;
    const double share = std::pow(static_cast<double>(most), 1.0 / static_cast<double>(axes_.size() - d));
    const std::size_t taken = std::clamp<std::size_t>(static_cast<std::size_t>(share), 1, parts.size());
    const std::size_t equal = a.equal[receiver];
    const std::size_t from = as_size(position) % equal;
    for (std::size_t k = 0; k < taken; ++k) {
      const common_part& c = parts[equal > taken ? (from + k) % equal : k];
      heavy(d + 1, most / static_cast<count_t>(taken), elements * c.indices,
            sender + as_size(c.process) * a.from_stride, position, at, f);
    }
  }

  const layout& from_;
  std::vector<axis> axes_;
  count_t total_ = 1;
  checked pairs_ = 1;
};

std::vector<int> ranks_of(const layout& l) {
  std::vector<int> ranks(as_size(l.processes()));
  for (std::size_t k = 0; k < ranks.size(); ++k) ranks[k] = layout_access::rank_at(l, k);
  return ranks;
}

// Elements that stay on their rank where position k of `to` is on rank rank_of[k].
count_t staying(const common_elements& common, const layout& from, const layout& to, std::span<const int> rank_of) {
  struct held {
    int rank;
    int position;
  };
  std::vector<held> source;
  for (const int rank : ranks_of(from)) source.push_back({rank, static_cast<int>(source.size())});
  std::ranges::sort(source, {}, &held::rank);
  std::vector<int> sender(from.dimensions().size());
  std::vector<int> receiver(sender);
  count_t elements = 0;
  for (std::size_t k = 0; k < rank_of.size(); ++k) {
    const auto at = std::ranges::lower_bound(source, rank_of[k], {}, &held::rank);
    if (at == source.end() || at->rank != rank_of[k]) continue;
    layout_access::coordinates_at(from, at->position, sender);
    layout_access::coordinates_at(to, static_cast<count_t>(k), receiver);
    elements += common.between(sender, receiver);
  }
  return elements;
}

// Throws usage_error.
void check(const layout& from, const layout& to, int ranks, const layout_options& o) {
  for (const layout* l : {&from, &to})
    if (const auto wrong = l->invalid_on(ranks); !wrong.empty())
      throw usage_error((l == &from ? "the source: " : "the target: ") + wrong, MPI_ERR_ARG);
  if (const auto wrong = invalid_part(from, to, o); !wrong.empty()) throw usage_error(wrong, MPI_ERR_ARG);
}

// Positions that have nothing in common with any rank that is free: on their own rank, or on the first free one.
void place_the_rest(const layout& l, std::vector<int>& rank_of, int ranks) {
  std::vector<bool> taken(as_size(ranks), false);
  for (const int r : rank_of)
    if (r >= 0) taken[as_size(r)] = true;
  for (std::size_t k = 0; k < rank_of.size(); ++k)
    if (const int own = layout_access::rank_at(l, k); rank_of[k] < 0 && !taken[as_size(own)]) {
      rank_of[k] = own;
      taken[as_size(own)] = true;
    }
  int free = 0;
  for (int& r : rank_of) {
    if (r >= 0) continue;
    while (taken[as_size(free)]) ++free;
    r = free++;
  }
}

}  // namespace

}  // namespace detail

using namespace detail;

layout layout::relabelled(const layout& from, int ranks, const layout_options& o) const {
  check(from, *this, ranks, o);
  const int positions = static_cast<int>(processes());
  common_elements common(from, *this, o);
  std::vector<weighted_pair> pairs;
  const auto add = [&](count_t elements, int position, int rank) { pairs.push_back({elements, position, rank}); };
  if (common.pairs().fits() && common.pairs().value() <= most_pairs)
    common.each(add);
  else
    common.each_heavy(*this, most_pairs / std::max(positions, 1), add);
  std::vector<int> rank_of = count_t{positions} * ranks <= most_exact_pairs
                                 ? best_assignment(pairs, positions, ranks)
                                 : greedy_assignment(pairs, positions, ranks);
  pairs = {};
  place_the_rest(*this, rank_of, ranks);
  if (staying(common, from, *this, rank_of) <= staying(common, from, *this, ranks_of(*this))) return *this;
  layout l = *this;
  l.on_ranks(rank_of);
  return l;
}

std::vector<int> layout::coordinates(int rank) const {
  std::vector<int> at(dimensions_.size(), outside_grid);
  layout_access::coordinates(*this, rank, at);
  return at;
}

count_t elements_moved(const layout& from, const layout& to, const layout_options& o) {
  check(from, to, std::numeric_limits<int>::max(), o);
  const common_elements common(from, to, o);
  return common.total() - staying(common, from, to, ranks_of(to));
}

}  // namespace taquin
