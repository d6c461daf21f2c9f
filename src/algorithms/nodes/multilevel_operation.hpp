// The operation of multilevel: one exchange inside this rank's group, then one in each column that the rank serves.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/direct/packed_side.hpp"
#include "algorithms/nodes/level_part.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "exchange/owned_blocks.hpp"
#include "mpi/backoff.hpp"
#include "taquin/error.hpp"

namespace taquin::detail {

/// Between groups: one column.
struct column {
  packed_side out;
  packed_side in;
  operation_ptr operation;
  bool done = true;
};

struct level_comms;

class multilevel_operation final : public operation {
 public:
  multilevel_operation(const exchange& x, const context& c, std::string_view names, const node_view& view,
                       memory_budget& budget);

  /// The most bytes that an operation takes on one of `size` ranks of a group, without those of the levels' algorithms.
  static std::size_t bytes(const shape& s, int size) noexcept;

  void start() override {
    partition();
    stage_ = 0;
    inside_->start();
  }

  bool test() override {
    if (stage_ == 0) {
      if (!inside_->test()) return false;
      cross();
    }
    if (stage_ == 1) {
      bool all = true;
      for (column& k : columns_) {
        k.done = k.done || k.operation->test();
        all = all && k.done;
      }
      if (!all) return false;
      deliver();
    }
    return true;
  }

  void wait() override {
    if (stage_ == 0) {
      inside_->wait();
      cross();
    }
    if (stage_ == 1 && columns_.size() == 1) {
      columns_.front().operation->wait();
      columns_.front().done = true;
    }
    // Columns progress together, because other ranks may wait for any of them.
    for (mpi::backoff waiting; !test();) waiting.pause();
  }

  void account(statistics& s) const override {
    inside_->account(s);
    s.bytes_copied += out_.bytes();
    for (const column& k : columns_) {
      k.operation->account(s);
      s.bytes_copied += k.out.bytes() + k.in.bytes();
    }
  }

 private:
  struct dimensions {
    std::size_t columns = 0;
    std::size_t sizes = 0;  // bytes of the sizes that the group's ranks exchange
    std::size_t outgoing = 0;
    std::size_t incoming = 0;
  };
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, const dimensions& d) {
    each(&multilevel_operation::sizes_, d.sizes);
    each(&multilevel_operation::columns_, at_most{d.columns});
    each(&multilevel_operation::outgoing_, d.outgoing);
    each(&multilevel_operation::incoming_, d.incoming);
  }
  // The sizes of the data that this rank forwards for its group, exchanged once: the sizes, and counts and
  // displacements of them.
  struct sizes_reported {
    sizes_reported(std::size_t ranks, std::size_t size, std::pmr::memory_resource* memory)
        : mine(memory), layout(memory) {
      array_list::take(*this, ranks, size);
    }
    template <class Each>
    static constexpr void arrays(Each each, std::size_t ranks, std::size_t size) {
      each(&sizes_reported::mine, at_most{ranks});
      each(&sizes_reported::layout, 4 * size);
    }
    std::pmr::vector<count_t> mine;
    std::pmr::vector<int> layout;
  };
  void exchange_sizes(int ranks, mpi::communicator& inside);
  void prepare_parts(const exchange& x, const context& c, std::string_view names, const level_comms& comms,
                     memory_budget& budget);
  [[nodiscard]] count_t size_of(int from, std::size_t which) const noexcept {
    return sizes_.empty() ? block_bytes_ : sizes_[as_size(from) * served_ + which];
  }
  void partition();
  void cross();
  void deliver();

  owned_blocks send_;
  owned_blocks recv_;
  level_part part_;
  count_t block_bytes_;  // of uniform exchanges
  std::size_t served_ = 0;
  std::pmr::vector<count_t> sizes_;  // otherwise: [local rank][rank served]
  packed_side out_;                  // by the local rank that serves the receiver
  packed_side mid_;                  // by the local rank that sends
  raw_buffer outgoing_;              // out_, then all columns' out: before the exchanges that send from it
  raw_buffer incoming_;              // mid_, then all columns' in
  std::pmr::vector<column> columns_;
  operation_ptr inside_;
  int stage_ = 2;
};

/// The body of an exchange by the levels of `view`, named from the first of `names` inwards. Collective over the
/// context's communicator. Throws usage_error on all ranks where an algorithm does not serve its level.
operation_ptr prepare_levels(const exchange& x, const context& c, std::string_view names, const node_view& view,
                             memory_budget& budget);

}  // namespace taquin::detail
