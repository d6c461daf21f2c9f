// Which ranks hold which positions of a target, so that few elements change ranks.
//
// Source: Kabić, Pintarelli, Kozhevnikov, VandeVondele, COSTA: Communication-Optimal Shuffle and Transpose Algorithm
// with Process Relabeling, §3.
#include <algorithm>
#include <limits>
#include <map>
#include <memory_resource>
#include <numeric>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "layouts/assignment.hpp"
#include "layouts/shape.hpp"
#include "taquin/error.hpp"

namespace taquin {

namespace detail {

namespace {

// After so many indices the owners repeat; 0: they do not.
count_t period(const dimension& d) noexcept {
  if (d.processes == 1) return 1;
  const count_t stride = block_stride(d);
  return stride < d.extent ? stride : 0;
}

// Calls f(process, indices) for the owners of the indices begin … end − 1.
template <class F>
void each_owner(const dimension& d, count_t begin, count_t end, F f) {
  const count_t stride = period(d);
  if (stride > 1 && end - begin > stride) {
    const auto below = [&](count_t index, int process) {
      return dimension::block_cyclic(index, d.processes, d.block, d.first).owned(process);
    };
    for (int process = 0; process < d.processes; ++process) f(process, below(end, process) - below(begin, process));
    return;
  }
  while (begin < end) {
    const owned_block b = block_of(d, begin);
    f(b.process, std::min(b.end, end) - begin);
    begin = b.end;
  }
}

// The elements that each rank of the source and each position of the target have in common: for each axis the indices
// that two coordinates have in common, whose products are those of ranks and positions.
class common_elements {
 public:
  common_elements(const layout& from, const layout& to, const layout_options& o) : from_(from) {
    const layout_shape shape(from, to, o, std::pmr::new_delete_resource());
    for (std::size_t d = 0; d < shape.problem.axes.size(); ++d) {
      const moved_axis& a = shape.problem.axes[d];
      axes_.push_back({layout_access::grid_stride(from, d),
                       layout_access::grid_stride(to, o.axes.empty() ? d : as_size(o.axes[d])), common_indices(a)});
      total_ *= a.extent;
    }
  }

  [[nodiscard]] count_t total() const noexcept { return total_; }
  /// Calls f(elements, position of the target, rank of the source) for all that have some in common.
  template <class F>
  void each(F f) const {
    walk(0, 1, 0, 0, f);
  }

 private:
  struct common {
    int sender;
    int receiver;
    count_t indices;
  };
  struct axis {
    std::size_t from_stride;  // of a coordinate in the number of a position
    std::size_t to_stride;
    std::vector<common> all;
  };
  using sums = std::map<std::pair<int, int>, count_t>;

  static std::vector<common> common_indices(const moved_axis& a) {
    sums all;
    const count_t one = period(*a.from);
    const count_t other = period(*a.to);
    const checked both = one > 0 && other > 0 ? checked(one / std::gcd(one, other)) * other : checked(0);
    const count_t repeats = both.fits() && both.value() > 0 ? a.extent / both.value() : 0;
    if (repeats > 0) add(a, both.value(), repeats, all);
    add(a, repeats > 0 ? a.extent % both.value() : a.extent, 1, all);
    std::vector<common> list;
    for (const auto& [processes, indices] : all)
      if (indices > 0) list.push_back({processes.first, processes.second, indices});
    return list;
  }

  // The first indices, `times` times: block by block of the side whose owners do not repeat.
  static void add(const moved_axis& a, count_t indices, count_t times, sums& all) {
    const bool by_target = period(*a.from) > 0 && period(*a.to) == 0;
    const dimension& mine = by_target ? *a.to : *a.from;
    const dimension& theirs = by_target ? *a.from : *a.to;
    const count_t my_begin = by_target ? a.to_begin : a.from_begin;
    const count_t their_begin = by_target ? a.from_begin : a.to_begin;
    for (count_t i = 0; i < indices;) {
      const owned_block b = block_of(mine, i + my_begin);
      const count_t end = std::min(b.end - my_begin, indices);
      each_owner(theirs, i + their_begin, end + their_begin, [&](int process, count_t n) {
        all[by_target ? std::pair(process, b.process) : std::pair(b.process, process)] += n * times;
      });
      i = end;
    }
  }

  template <class F>
  void walk(std::size_t d, count_t elements, std::size_t sender, std::size_t receiver, F& f) const {
    if (d == axes_.size()) return f(elements, static_cast<int>(receiver), layout_access::rank_at(from_, sender));
    for (const common& c : axes_[d].all)
      walk(d + 1, elements * c.indices, sender + as_size(c.sender) * axes_[d].from_stride,
           receiver + as_size(c.receiver) * axes_[d].to_stride, f);
  }

  const layout& from_;
  std::vector<axis> axes_;
  count_t total_ = 1;
};

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
  std::vector<weighted_pair> pairs;
  count_t kept = 0;  // elements that stay on their rank
  common_elements(from, *this, o).each([&](count_t elements, int position, int rank) {
    pairs.push_back({elements, position, rank});
    if (layout_access::rank_at(*this, as_size(position)) == rank) kept += elements;
  });
  std::vector<int> rank_of = count_t{positions} * ranks <= most_exact_pairs
                                 ? best_assignment(pairs, positions, ranks)
                                 : greedy_assignment(pairs, positions, ranks);
  count_t better = 0;
  for (const weighted_pair& p : pairs)
    if (rank_of[as_size(p.position)] == p.rank) better += p.weight;
  if (better <= kept) return *this;
  place_the_rest(*this, rank_of, ranks);
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
  count_t moved = common.total();
  common.each([&](count_t elements, int position, int rank) {
    if (layout_access::rank_at(to, as_size(position)) == rank) moved -= elements;
  });
  return moved;
}

}  // namespace taquin
