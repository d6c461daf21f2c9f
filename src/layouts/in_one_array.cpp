// A redistribution between layouts in one array.
//
// Steps: an exchange in place (grouped_exchange), after which a rank's part lies as the target has it, if the target
// had the source's order of axes; then these change places. Leading dimensions and halos are closed before and opened
// afterwards. Everything is agreed and allocated before the first step, so that nothing can be refused in between.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "call/failure_map.hpp"
#include "layouts/access.hpp"
#include "layouts/arguments.hpp"
#include "layouts/grouped_exchange.hpp"
#include "layouts/layout_call.hpp"
#include "layouts/mover.hpp"
#include "layouts/owner_runs.hpp"
#include "layouts/permute_axes.hpp"
#include "taquin/error.hpp"
#include "taquin/layout.hpp"

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
  // Of the elements, without gaps.
  [[nodiscard]] std::size_t bytes() const noexcept { return as_size(rows_) * row_; }
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

class one_array_mover final : public layout_mover, private layout_call {
 public:
  one_array_mover(const layout_arguments&, const layout_options& o) : layout_call(o), scratch_(&budget) {}

  void begin(const layout_arguments& x, const layout_options& o, bool lacks_memory) {
    data_ = static_cast<std::byte*>(x.to_array);
    enter(x, o, lacks_memory, [&](const element& e, const agreed& all) {
      element_ = as_size(e.size);
      prepare(all);
    });
    exchange_->join(data_, x.comm);
  }

  void start() override {
    if (pending_) throw usage_error("the redistribution is started already", MPI_ERR_REQUEST);
    forget_map();
    before_->close_gaps(data_);
    try {
      exchange_->start(data_);
    } catch (...) {
      keep_map_of([&] { return map_maker(exchange_->standing()); });
      throw;
    }
    pending_ = true;
  }
  bool test() override {
    return !pending_ || ends([&] { return exchange_->test(); });
  }
  void wait() override {
    if (pending_)
      ends([&] {
        exchange_->wait();
        return true;
      });
  }
  void set_data(const void*, void*) override {
    throw usage_error("a redistribution in one array stays with it", MPI_ERR_ARG);
  }
  [[nodiscard]] std::size_t peak() const noexcept override { return budget.peak() + exchange_->inner_peak(); }

 private:
  template <class Poll>
  bool ends(Poll poll) {
    try {
      if (!poll()) return false;
    } catch (...) {
      pending_ = false;
      keep_map_of_streams();
      throw;
    }
    pending_ = false;
    exchange_->finish(data_);
    std::array<count_t, most_dimensions> extents{};
    for (std::size_t k = 0; k < axes(); ++k) extents[k] = after_->owned()[as_size(place_there_[k])];
    order_->run(data_, std::span(extents).first(axes()), {scratch_.data(), scratch_.size()});
    if (change) change.apply(data_, after_->bytes());
    after_->open_gaps(data_);
    running.account(
        [&](statistics& s) {
          const statistics& moved = exchange_->moved();
          s.rounds += moved.rounds;
          s.messages += moved.messages;
          s.bytes_sent += moved.bytes_sent;
          s.bytes_copied += moved.bytes_copied;
        },
        peak());
    return true;
  }

  // Only the exchange communicates or allocates. So a rank has an error during the exchange, or not at all.
  void keep_map_of_streams() noexcept {
    failure::block_map streams = take_map();
    if (streams.known) keep_map_of([&] { return map_maker(std::move(streams)); });
  }
  [[nodiscard]] std::function<failure::block_map()> map_maker(failure::block_map&& streams) const {
    return [move = failed(element_), streams = std::move(streams)]() mutable {
      return move.in_one_array(std::move(streams));
    };
  }

  [[nodiscard]] std::size_t axes() const noexcept { return from.dimensions().size(); }
  // The dimension of the target that one of the source becomes.
  [[nodiscard]] std::size_t there(std::size_t d) const { return options.axes.empty() ? d : as_size(options.axes[d]); }

  // Chooses sizes that all ranks have the same, and allocates.
  void prepare(const agreed& all) {
    const int rank = running.comm()->rank();
    before_.emplace(from, rank, element_);
    after_.emplace(to, rank, element_);
    leaving_.emplace(runs_of(from, to, true, rank));
    coming_.emplace(runs_of(to, from, false, rank));
    const problem p = describe_problem();
    const std::size_t held = copies() + all.max_rank_bytes;
    const std::size_t space = std::min(all.memory - std::min<std::size_t>(all.memory, held), worth(p));
    order_.emplace(p.order(), p.extents(), element_, grouped_sizes::left_of(space, p.ranks) / 2);
    const grouped_sizes sizes = grouped_sizes::within(space, p.streams, p.most, p.ranks,
                                                      common_run(from, to, options) * element_, order_->bytes());
    need(held + sizes.bytes(p.ranks), all.memory, [&] { return held + worth(p); });
    budget.charge(held);
    scratch_.reset(sizes.scratch);
    const array_move move{from, to, *leaving_, *coming_, p.most, p.ranks, options};
    exchange_.emplace(move, sizes, std::span(scratch_.data(), scratch_.size()), &budget);
  }

  // Axis k: of the source's memory.
  struct problem {
    std::size_t axes = 0;
    std::size_t ranks = 0;
    std::size_t streams = 0;  // positions of the larger grid
    std::size_t most = 0;     // bytes of the largest array of any rank, without gaps
    std::array<int, most_dimensions> to_order{};
    std::array<count_t, most_dimensions> most_there{};  // the largest extents in the target
    [[nodiscard]] std::span<const int> order() const { return std::span(to_order).first(axes); }
    [[nodiscard]] std::span<const count_t> extents() const { return std::span(most_there).first(axes); }
  };

  problem describe_problem() {
    problem p{.axes = axes(), .ranks = as_size(running.comm()->size())};
    p.streams = as_size(std::max(from.processes(), to.processes()));
    std::size_t most_before = element_;
    std::size_t most_after = element_;
    for (std::size_t k = 0; k < axes(); ++k) {
      const auto d = as_size(layout_access::axis(from, k));
      most_before *= as_size(most_owned(from.dimensions()[d]));
      p.most_there[k] = most_owned(to.dimensions()[there(d)]);
      most_after *= as_size(p.most_there[k]);
      for (std::size_t j = 0; j < axes(); ++j)
        if (as_size(layout_access::axis(to, j)) == there(d)) {
          p.to_order[j] = static_cast<int>(k);
          place_there_[k] = static_cast<int>(j);
        }
    }
    p.most = std::max({most_before, most_after, element_});
    return p;
  }

  // No more memory than this saves time.
  static std::size_t worth(const problem& p) {
    constexpr std::size_t enough = std::size_t{512} << 10U;
    const double pages = 4 * std::sqrt(static_cast<double>(p.most) * static_cast<double>(p.streams + 1));
    return static_cast<std::size_t>(pages) + p.most / 64 + std::min(p.most / 4, enough) + 300 * p.ranks + 25000;
  }

  // The elements of a rank in `mine`, by the positions of `theirs`. `outgoing`: mine is the source.
  [[nodiscard]] owner_runs runs_of(const layout& mine, const layout& theirs, bool outgoing, int rank) const {
    std::array<int, most_dimensions> at{};
    layout_access::coordinates(mine, rank, std::span(at).first(axes()));
    std::array<distributed_axis, most_dimensions> common_axes{};
    for (std::size_t k = 0; k < axes(); ++k) {
      const auto d = as_size(layout_access::axis(from, k));
      const std::size_t m = outgoing ? d : there(d);
      const std::size_t t = outgoing ? there(d) : d;
      common_axes[k] = {&mine.dimensions()[m], at[m], &theirs.dimensions()[t], layout_access::grid_stride(theirs, t)};
    }
    return {std::span(common_axes).first(axes()), element_};
  }

  std::byte* data_ = nullptr;
  std::size_t element_ = 0;
  std::optional<stored_array> before_;
  std::optional<stored_array> after_;
  std::optional<owner_runs> leaving_;
  std::optional<owner_runs> coming_;
  std::optional<axis_permutation> order_;
  std::array<int, most_dimensions> place_there_{};  // of an axis of the source's memory in the target's
  raw_buffer scratch_;
  std::optional<grouped_exchange> exchange_;
  bool pending_ = false;
};

std::unique_ptr<layout_mover> layout_access::mover_in_one_array(const layout_arguments& x, const layout_options& o) {
  return begin_together<one_array_mover>(x, o);
}

void redistribute_in_one_array(void* data, std::size_t size, const layout& from, const layout& to, MPI_Datatype type,
                               MPI_Comm comm, const layout_options& o) {
  layout_access::make({.from_array = data,
                       .from_size = size,
                       .from = &from,
                       .to_array = data,
                       .to_size = size,
                       .to = &to,
                       .type = type,
                       .comm = comm,
                       .in_one_array = true},
                      o)();
}

}  // namespace taquin::detail

namespace taquin {

void redistribute(void* data, const layout& from, const layout& to, MPI_Datatype type, MPI_Comm comm,
                  const layout_options& o) {
  detail::redistribute_in_one_array(data, unlimited, from, to, type, comm, o);
}

}  // namespace taquin
