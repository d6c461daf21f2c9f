#include "layouts/disagreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "base/collective_error.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "mpi/collectives.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

namespace {

// The meaning of a number. `format` has the places of the dimension and of the number in a list.
struct argument {
  const char* of;  // "layouts", "elements", "part that moves"
  const char* format;
  const char* side = "";
  std::size_t dimension = 0;
  std::size_t index = 0;
  bool real = false;  // bits of a double

  [[nodiscard]] std::string name() const {
    return fmt::format(fmt::runtime(format), fmt::arg("side", side), fmt::arg("dimension", dimension),
                       fmt::arg("index", index));
  }
  [[nodiscard]] std::string text(std::int64_t value) const {
    return real ? fmt::format("{}", std::bit_cast<double>(value)) : fmt::format("{}", value);
  }
};

// Calls f(argument, value) for all numbers. Each number that says how many follow stands before them, so that up to the
// first difference all ranks have the same sequence.
template <class F>
void each_of(const layout& l, const char* side, F& f) {
  const auto& all = l.dimensions();
  f(argument{"layouts", "the number of dimensions of the {side}", side}, static_cast<std::int64_t>(all.size()));
  for (std::size_t d = 0; d < all.size(); ++d) {
    const auto number = [&](const char* format, std::int64_t value) { f(argument{"layouts", format, side, d}, value); };
    number("the extent of dimension {dimension} of the {side}", all[d].extent);
    number("the number of processes along dimension {dimension} of the {side}", all[d].processes);
    number("the length of blocks of dimension {dimension} of the {side}", all[d].block);
    number("the first process of dimension {dimension} of the {side}", all[d].first);
    number("the number of given bounds of dimension {dimension} of the {side}",
           static_cast<std::int64_t>(all[d].bounds.size()));
    for (std::size_t k = 0; k < all[d].bounds.size(); ++k)
      f(argument{"layouts", "bound {index} of the blocks of dimension {dimension} of the {side}", side, d, k},
        all[d].bounds[k]);
  }
  f(argument{"layouts", "the order of ranks in the grid of the {side} (0: C, 1: Fortran)", side},
    static_cast<std::int64_t>(layout_access::grid_order(l)));
  const std::span<const int> ranks = layout_access::ranks(l);
  f(argument{"layouts", "the number of listed ranks of the {side}", side}, static_cast<std::int64_t>(ranks.size()));
  for (std::size_t k = 0; k < ranks.size(); ++k)
    f(argument{"layouts", "the rank at position {index} of the grid of the {side}", side, 0, k}, ranks[k]);
  for (std::size_t k = 0; k < all.size(); ++k)
    f(argument{"layouts", "the dimension that is number {index} in the memory order of the {side}", side, 0, k},
      layout_access::axis(l, k));
}

template <class F>
void each_of(const move_arguments& x, F& f) {
  f(argument{"layouts", "whether the array moves in its own memory"}, x.in_one_array ? 1 : 0);
  each_of(x.from, "source", f);
  each_of(x.to, "target", f);
  const layout_options& o = x.options;
  f(argument{"part that moves", "the number of axes"}, static_cast<std::int64_t>(o.axes.size()));
  for (std::size_t k = 0; k < o.axes.size(); ++k)
    f(argument{"part that moves", "the target's dimension of the source's dimension {dimension}", "", k}, o.axes[k]);
  const auto list = [&](const char* format, const std::vector<count_t>& numbers) {
    for (std::size_t d = 0; d < x.from.dimensions().size(); ++d)  // −1: not given
      f(argument{"part that moves", format, "", d}, numbers.empty() ? -1 : numbers[d]);
  };
  list("from_begin of dimension {dimension}", o.from_begin);
  list("to_begin of dimension {dimension}", o.to_begin);
  list("the extent of dimension {dimension}", o.extents);
  f(argument{"part that moves", "the part of a matrix (0: all, 1: upper, 2: lower)"},
    static_cast<std::int64_t>(x.part.part));
  f(argument{"part that moves", "the diagonal of a triangle"}, x.part.shift);
  f(argument{"elements", "the bytes of an element"}, x.element_bytes);
  f(argument{"elements", "the kind of the numbers"}, static_cast<std::int64_t>(x.change.kind()));
  f(argument{"elements", "conjugate"}, o.conjugate ? 1 : 0);
  f(argument{"elements", "the real part of the scale", "", 0, 0, true}, std::bit_cast<std::int64_t>(o.scale.real()));
  f(argument{"elements", "the imaginary part of the scale", "", 0, 0, true},
    std::bit_cast<std::int64_t>(o.scale.imag()));
}

constexpr std::size_t window = 512;  // numbers that are compared together
using values = std::array<std::int64_t, window>;

// Numbers begin … begin + window − 1; returns how many there are.
std::size_t copy_values(const move_arguments& x, std::size_t begin, values& to) {
  std::size_t at = 0;
  const auto add = [&](const argument&, std::int64_t value) {
    if (at >= begin && at < begin + window) to[at - begin] = value;
    ++at;
  };
  each_of(x, add);
  return std::min(at - std::min(at, begin), window);
}

struct difference {
  std::int64_t number = 0;
  int rank = 0;
  std::int64_t first = 0;  // the value on rank 0
  std::int64_t other = 0;  // and on `rank`
};

[[noreturn]] void report(const move_arguments& x, const difference& d) {
  throw_on_all_ranks([&] {
    std::string what;
    std::int64_t at = 0;
    const auto name = [&](const argument& a, std::int64_t) {
      if (at++ == d.number)
        what = fmt::format("ranks disagree on the {}: {} is {} on rank 0 and {} on rank {}", a.of, a.name(),
                           a.text(d.first), a.text(d.other), d.rank);
    };
    each_of(x, name);
    return usage_error(what, MPI_ERR_ARG, d.rank);
  });
}

}  // namespace

void refuse_disagreement(mpi::communicator& comm, const move_arguments& mine) {
  for (std::size_t begin = 0;; begin += window) {
    values own{};
    auto count = static_cast<std::int64_t>(copy_values(mine, begin, own));
    values first = own;
    mpi::broadcast(std::span<std::int64_t>(first), 0, comm.get());
    mpi::broadcast(std::span<std::int64_t>(&count, 1), 0, comm.get());
    const auto same = std::ranges::mismatch(own, first).in1 - own.begin();
    std::int64_t differs = same;
    mpi::allreduce(differs, MPI_MIN, comm.get());
    if (differs < static_cast<std::int64_t>(window)) {
      const auto at = as_size(differs);
      std::int32_t who = own[at] != first[at] ? comm.rank() : comm.size();
      mpi::allreduce(who, MPI_MIN, comm.get());
      std::int64_t other = own[at];
      mpi::broadcast(std::span<std::int64_t>(&other, 1), who, comm.get());
      report(mine, {static_cast<std::int64_t>(begin) + differs, who, first[at], other});
    }
    if (count < static_cast<std::int64_t>(window)) break;
  }
  throw_on_all_ranks([] { return usage_error("ranks disagree on the layouts or on what moves", MPI_ERR_ARG); });
}

}  // namespace taquin::detail
