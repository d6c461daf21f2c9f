// A sparse exchange in the memory of a node: one step if the data follow immediately, two if they follow later.
#pragma once

#include <cstddef>
#include <exception>
#include <memory_resource>
#include <optional>
#include <vector>

#include "algorithms/sparse/headers.hpp"
#include "algorithms/sparse/node_step.hpp"
#include "base/memory_budget.hpp"
#include "node/channel.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

class sparse_on_node {
 public:
  /// `mine` and `budget` must outlive it; elements must suit (`suits`).
  sparse_on_node(channel& c, const sparse_data& mine, memory_budget& budget) noexcept
      : c_(c), mine_(mine), budget_(budget) {}

  /// Whether a step can describe how many such elements a block has.
  static bool suits(const element& e) noexcept { return e.size > 0 && e.size < node_step::most_element; }

  /// The first step. False, on all ranks, if it has transferred nothing; everything is as before then.
  bool find(const sparse_blocks& x, bool at_once, bool named);

  /// A step is entered and not ended.
  [[nodiscard]] bool is_open() const noexcept { return step_.has_value(); }
  /// The blocks found for this rank; f(from, elements, first) for each, in order.
  [[nodiscard]] std::size_t blocks() const noexcept { return step_->blocks(); }
  template <class Each>
  void each(Each f) const {
    step_->each([&](const node_step::block& b) { f(b.from, elements_of(b), static_cast<count_t>(b.place)); });
  }
  /// Their notices have been read.
  void found(statistics* s);

  /// The data's step of a two-step exchange: false, on all ranks, if the data must follow as messages. `ready` is false
  /// on a rank that has an error.
  bool begin_data(bool ready);
  /// All blocks, consecutively.
  void receive(std::byte* into);
  /// In chunks of at most so many elements, through `chunk`. Returns the first exception of `take`.
  std::exception_ptr deliver(count_t elements, const sparse_call::taker& take, std::byte* chunk);
  /// Waits until others need no more of this rank's data. invalid() then has the error of this rank's copies.
  void end(statistics* s);
  [[nodiscard]] const std::optional<invalid_argument>& invalid() const noexcept { return invalid_; }

 private:
  [[nodiscard]] count_t elements_of(const node_step::block& b) const noexcept {
    return static_cast<count_t>(b.bytes) / mine_.element.size;
  }
  void keep(const sparse_blocks& x);
  void close(statistics* s);

  channel& c_;
  const sparse_data& mine_;
  memory_budget& budget_;
  std::optional<std::pmr::vector<int>> destinations_;  // for the data that follow
  std::optional<std::pmr::vector<count_t>> counts_;
  std::optional<node_step> step_;
  std::optional<invalid_argument> invalid_;
};

}  // namespace taquin::detail
