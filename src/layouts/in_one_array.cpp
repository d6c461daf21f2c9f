// A redistribution between layouts in one array.
//
// Steps: a rank groups its elements by target rank, in the order of the source's memory; an exchange in place; received
// elements move to their places in the target, if the target had the source's order of axes; these change places.
// Leading dimensions and halos are closed before and opened afterwards. All but the exchange is local. Memory:
// grouping::bytes, axis_permutation::bytes, four numbers for each rank, and the limit of the exchange.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/in_place/in_place_operation.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "layouts/grouping.hpp"
#include "layouts/layout_call.hpp"
#include "layouts/owner_runs.hpp"
#include "layouts/permute_axes.hpp"
#include "taquin/alltoall.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"
#include "taquin/plan.hpp"

namespace taquin::detail {

namespace {

// A rank's array as it is stored, and how it lies without gaps.
class stored_array {
 public:
  stored_array(const layout& l, int rank, std::size_t element) : axes_(l.dimensions().size()) {
    std::array<int, most_dimensions> at{};
    layout_access::coordinates(l, rank, std::span(at).first(axes_));
    auto stride = static_cast<count_t>(element);
    for (std::size_t k = axes_; k-- > 0;) {
      const auto d = as_size(layout_access::axis(l, k));
      owned_[k] = at[d] == outside_grid ? 0 : l.dimensions()[d].owned(at[d]);
      strides_[k] = stride;
      first_ += layout_access::before(l, d) * stride;
      const count_t allocated = layout_access::allocated(l, d, owned_[k]);
      dense_ = dense_ && allocated == owned_[k];
      stride *= allocated;
    }
    row_ = axes_ > 0 ? as_size(owned_[axes_ - 1]) * element : 0;
    rows_ = row_ > 0 ? 1 : 0;
    for (std::size_t k = 0; k + 1 < axes_; ++k) rows_ *= owned_[k];
    dense_ = dense_ || rows_ == 0;
  }

  void close_gaps(std::byte* data) const {
    for (count_t r = 0; !dense_ && r < rows_; ++r) std::memmove(data + as_size(r) * row_, data + place(r), row_);
  }
  void open_gaps(std::byte* data) const {
    for (count_t r = rows_; !dense_ && r-- > 0;) std::memmove(data + place(r), data + as_size(r) * row_, row_);
  }
  // From the axis that changes slowest in memory to the one that changes fastest.
  [[nodiscard]] std::span<const count_t> owned() const noexcept { return std::span(owned_).first(axes_); }

 private:
  [[nodiscard]] std::size_t place(count_t row) const noexcept {
    count_t at = first_;
    for (std::size_t k = axes_ - 1; k-- > 0;) {
      at += row % owned_[k] * strides_[k];
      row /= owned_[k];
    }
    return as_size(at);
  }

  std::size_t axes_;
  std::array<count_t, most_dimensions> owned_{};
  std::array<count_t, most_dimensions> strides_{};
  count_t first_ = 0;
  count_t rows_ = 0;
  std::size_t row_ = 0;
  bool dense_ = true;
};

count_t most_owned(const dimension& d) noexcept {
  count_t most = 0;
  for (int p = 0; p < d.processes; ++p) most = std::max(most, d.owned(p));
  return most;
}

}  // namespace

class redistribution_in_one_array : layout_call {
 public:
  redistribution_in_one_array(const layout_arguments&, const layout_options& o) : layout_call(o), scratch_(&budget) {}

  void begin(const layout_arguments& x, const layout_options& o, bool lacks_memory) {
    enter(x, o, lacks_memory, [&](const element& e, const agreed& all) {
      element_ = as_size(e.size);
      prepare(all.memory);
    });
  }

  void run(std::byte* data, MPI_Comm comm) {
    const int rank = running.comm()->rank();
    const stored_array before(from, rank, element_);
    const stored_array after(to, rank, element_);
    const owner_runs leaving = runs_of(from, to, true, rank);
    const owner_runs coming = runs_of(to, from, false, rank);
    count(leaving, to, *out_);
    count(coming, from, *in_);
    before.close_gaps(data);
    with_groups(positions(to), [&](grouping& g) { group(g, data, leaving); });
    statistics moved;
    try {
      taquin::options inner;
      inner.algorithm = "in_place";
      inner.memory = exchange_memory_;
      inner.timeout = options.timeout;
      inner.on_timeout = options.on_timeout;
      inner.in_flight = options.in_flight;
      inner.stats = &moved;
      taquin::run(
          exchange::alltoallv_in_place(data, count_view(out_->counts.data()), count_view(out_->first.data()),
                                       count_view(in_->counts.data()), count_view(in_->first.data()), MPI_BYTE, comm),
          inner);
    } catch (const error& e) {
      if (e.collective()) {  // nothing has been sent
        with_groups(positions(to), [&](grouping& g) { scatter(g, data, leaving); });
        before.open_gaps(data);
      }
      throw;
    }
    with_groups(positions(from), [&](grouping& g) { scatter(g, data, coming); });
    std::array<count_t, most_dimensions> extents{};
    for (std::size_t k = 0; k < axes(); ++k) extents[k] = after.owned()[as_size(place_there_[k])];
    order_->run(data, std::span(extents).first(axes()), scratch());
    after.open_gaps(data);
    running.account(
        [&](statistics& s) {
          s.rounds += moved.rounds;
          s.messages += moved.messages;
          s.bytes_sent += moved.bytes_sent;
          s.bytes_copied += moved.bytes_copied;
        },
        budget.used() + moved.peak_memory);
  }

 private:
  // Numbers for each rank.
  struct side {
    side(std::size_t ranks, std::pmr::memory_resource* memory) : counts(ranks, 0, memory), first(ranks, 0, memory) {}
    static std::size_t bytes(std::size_t ranks) noexcept { return 2 * ranks * sizeof(count_t); }
    std::pmr::vector<count_t> counts;
    std::pmr::vector<count_t> first;
  };

  [[nodiscard]] std::size_t axes() const noexcept { return from.dimensions().size(); }
  [[nodiscard]] static std::size_t positions(const layout& l) { return as_size(l.processes()); }
  // The dimension of the target that one of the source becomes.
  [[nodiscard]] std::size_t there(std::size_t d) const { return options.axes.empty() ? d : as_size(options.axes[d]); }
  [[nodiscard]] std::span<std::byte> scratch() const noexcept { return {scratch_.data(), scratch_.size()}; }

  // Chooses sizes that are the same on all ranks, and allocates. Axis k: of the source's memory.
  void prepare(std::size_t allowed) {
    const auto ranks = as_size(running.comm()->size());
    const std::size_t copies = layout_access::bytes(from) + layout_access::bytes(to);
    std::size_t most_before = element_;
    std::size_t most_after = element_;
    std::vector<count_t> extents;
    std::vector<int> order(axes());
    place_there_.resize(axes());
    for (std::size_t k = 0; k < axes(); ++k) {
      const auto d = as_size(layout_access::axis(from, k));
      most_before *= as_size(most_owned(from.dimensions()[d]));
      extents.push_back(most_owned(to.dimensions()[there(d)]));
      most_after *= as_size(extents.back());
      for (std::size_t j = 0; j < axes(); ++j)
        if (as_size(layout_access::axis(to, j)) == there(d)) {
          order[j] = static_cast<int>(k);
          place_there_[k] = static_cast<int>(j);
        }
    }
    most_ = std::max(most_before, most_after);
    streams_ = std::max(positions(from), positions(to));
    const std::size_t held = copies + 2 * side::bytes(ranks) + axes() * 2 * sizeof(axis_permutation);
    const std::size_t exchange_least = least_of_exchange(static_cast<int>(ranks));
    // The exchange has a half of the rest, the steps before and after it share the other.
    const std::size_t room = allowed - std::min(allowed, held + exchange_least);
    page_ = grouping::page_for(streams_, most_, room / 2);
    order_.emplace(order, extents, element_, room / 2);
    const std::size_t local = std::max(grouping::bytes(streams_, page_, most_) + alignment, order_->bytes());
    need(held + exchange_least + local, allowed);
    exchange_memory_ = std::min(allowed - held - local, std::max(exchange_least, most_ + most_ / 8));
    budget.charge(held - 2 * side::bytes(ranks));
    out_.emplace(ranks, &budget);
    in_.emplace(ranks, &budget);
    scratch_.reset(local);
  }

  [[nodiscard]] static std::size_t least_of_exchange(int ranks) {
    shape s;
    s.in_place = true;
    s.ranks = ranks;
    s.max_peers = ranks;
    s.unit_span = 1;
    s.unit_size = 1;
    return in_place_operation::least(s) + slack;
  }

  // The elements of a rank in `mine`, by the positions of `theirs`. `leaving`: mine is the source.
  [[nodiscard]] owner_runs runs_of(const layout& mine, const layout& theirs, bool leaving, int rank) const {
    std::array<int, most_dimensions> at{};
    layout_access::coordinates(mine, rank, std::span(at).first(axes()));
    std::array<dealt_axis, most_dimensions> dealt{};
    for (std::size_t k = 0; k < axes(); ++k) {
      const auto d = as_size(layout_access::axis(from, k));
      const std::size_t m = leaving ? d : there(d);
      const std::size_t t = leaving ? there(d) : d;
      dealt[k] = {&mine.dimensions()[m], at[m], &theirs.dimensions()[t], layout_access::grid_stride(theirs, t)};
    }
    return {std::span(dealt).first(axes()), element_};
  }

  static void count(const owner_runs& runs, const layout& theirs, side& s) {
    std::ranges::fill(s.counts, count_t{0});
    runs.forward([&](std::size_t position, std::size_t n) {
      s.counts[as_size(layout_access::rank_at(theirs, position))] += static_cast<count_t>(n);
    });
    count_t at = 0;
    for (std::size_t position = 0; position < positions(theirs); ++position) {
      const auto rank = as_size(layout_access::rank_at(theirs, position));
      s.first[rank] = at;
      at += s.counts[rank];
    }
  }

  static void group(grouping& g, std::byte* data, const owner_runs& runs) {
    g.group(data, [&](auto f) { runs.forward(f); });
  }
  static void scatter(grouping& g, std::byte* data, const owner_runs& runs) {
    g.scatter(
        data, [&](auto f) { runs.forward(f); }, [&](auto f) { runs.backward(f); });
  }
  template <class F>
  void with_groups(std::size_t streams, F f) const {
    std::pmr::monotonic_buffer_resource memory(scratch_.data(), scratch_.size(), std::pmr::null_memory_resource());
    grouping g(streams, page_, most_, &memory);
    f(g);
  }

  static constexpr std::size_t alignment = 128;  // of what a grouping allocates
  static constexpr std::size_t slack = 4096;     // of an exchange, beside its operation

  std::size_t element_ = 0;
  std::size_t most_ = 0;  // bytes of the largest array of any rank, without gaps
  std::size_t streams_ = 0;
  std::size_t page_ = 0;
  std::size_t exchange_memory_ = 0;
  std::optional<side> out_;
  std::optional<side> in_;
  std::optional<axis_permutation> order_;
  std::vector<int> place_there_;  // of an axis of the source's memory in the target's
  raw_buffer scratch_;
};

void layout_access::run_in_one_array(void* data, const layout_arguments& x, const layout_options& o) {
  check_communicator(x.comm, "redistribution");
  begin_together<redistribution_in_one_array>(x, o)->run(static_cast<std::byte*>(data), x.comm);
}

void redistribute_in_one_array(void* data, std::size_t size, const layout& from, const layout& to, MPI_Datatype type,
                               MPI_Comm comm, const layout_options& o) {
  layout_access::run_in_one_array(data,
                                  {.from_array = data,
                                   .from_size = size,
                                   .from = &from,
                                   .to_array = data,
                                   .to_size = size,
                                   .to = &to,
                                   .type = type,
                                   .comm = comm,
                                   .in_one_array = true},
                                  o);
}

}  // namespace taquin::detail

namespace taquin {

void redistribute(void* data, const layout& from, const layout& to, MPI_Datatype type, MPI_Comm comm,
                  const layout_options& o) {
  detail::redistribute_in_one_array(data, unlimited, from, to, type, comm, o);
}

}  // namespace taquin
