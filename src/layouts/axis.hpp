// One dimension of the elements that move between two layouts, and the runs of it that one process of the source and
// one of the target have in common.
#pragma once

#include <algorithm>
#include <limits>

#include "taquin/layout.hpp"

namespace taquin::detail {

/// A block of a dimension: indices begin … end − 1, the first of which is at `local` among those of its owner.
struct index_block {
  count_t begin;
  count_t end;
  count_t local;
};

/// All indices of a dimension with one process are one block, whatever its length of blocks.
///
/// The first block of `process` that ends after `index`; an empty one at the end of the dimension if there is none.
index_block block_behind(const dimension& d, int process, count_t index) noexcept;
/// The block that an index of the dimension lies in, and its process.
struct owned_block {
  int process;
  count_t begin;
  count_t end;
};
owned_block block_of(const dimension& d, count_t index) noexcept;
/// The index of the whole dimension that is local index `local` of the process, which owns it.
count_t global_index(const dimension& d, int process, count_t local) noexcept;
/// From one block of a process to its next one; 0: there is no next one.
count_t block_stride(const dimension& d) noexcept;

/// One dimension of the moving elements: its index i is index i + from_begin of the source, i + to_begin of the target.
struct moved_axis {
  const dimension* from;
  const dimension* to;
  count_t from_begin;
  count_t to_begin;
  count_t extent;
};

/// Consecutive elements of a dimension that one process has before and one afterwards.
struct axis_run {
  count_t from;    ///< local index in the source
  count_t to;      ///< local index in the target
  count_t at;      ///< elements of the chunk along this dimension before the run
  count_t length;  ///< elements
  count_t index;   ///< of its first element among those that move
};

/// Visits the runs that process `sender` of the source and process `receiver` of the target have in common, in order.
/// Allocates nothing. A step costs a few additions; two divisions if a gap is longer than a block.
class axis_walk {
 public:
  axis_walk(const moved_axis& axis, int sender, int receiver) noexcept
      : from_(*axis.from, sender, axis.from_begin), to_(*axis.to, receiver, axis.to_begin), extent_(axis.extent) {
    find();
  }

  [[nodiscard]] bool at_end() const noexcept { return at_ >= extent_; }
  /// The next run, of at most `most` elements. To be called while it is not over.
  axis_run next(count_t most) noexcept {
    const count_t length = std::min({from_.block.end, to_.block.end, extent_}) - at_;
    const axis_run r{from_.block.local + (at_ - from_.block.begin), to_.block.local + (at_ - to_.block.begin), 0,
                     std::min(most, length), at_};
    at_ += r.length;
    if (most >= length) find();
    return r;
  }

 private:
  // The blocks of one side, in indices of the moving elements.
  struct side {
    side(const dimension& d, int p, count_t first) noexcept
        : dim(&d), process(p), shift(first), stride(block_stride(d)), block(at(0)) {}
    [[nodiscard]] index_block at(count_t index) const noexcept {
      index_block b = block_behind(*dim, process, index + shift);
      b.begin -= shift;
      b.end -= shift;
      return b;
    }
    // To the first block that ends after `index`.
    void advance(count_t index) noexcept {
      if (block.end > index) return;
      const count_t length = block.end - block.begin;
      if (stride > 0 && block.end + stride > index && block.end + stride <= dim->extent - shift) {
        block = {block.begin + stride, block.end + stride, block.local + length};
      } else {
        block = at(index);
      }
    }
    const dimension* dim;
    int process;
    count_t shift;
    count_t stride;
    index_block block;
  };

  // From at_ on, the first index that both have.
  void find() noexcept {
    while (at_ < extent_) {
      from_.advance(at_);
      to_.advance(at_);
      if (from_.block.begin >= from_.block.end || to_.block.begin >= to_.block.end) break;
      const count_t begin = std::max({at_, from_.block.begin, to_.block.begin});
      if (begin < std::min({from_.block.end, to_.block.end, extent_})) {
        at_ = begin;
        return;
      }
      at_ = begin;
    }
    at_ = extent_;
  }

  side from_;
  side to_;
  count_t extent_;
  count_t at_ = 0;
};

}  // namespace taquin::detail
