// The destinations of blocks, kept beside them as they move; and the two local moves that all algorithms share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/arrays.hpp"
#include "base/sizes.hpp"
#include "protocol/store.hpp"

namespace taquin::detail {

/// A place for one block: a unit of the store. 0 … blocks−1 are in the caller's array, then staging.
using slot = std::uint32_t;
inline constexpr slot no_slot = std::numeric_limits<slot>::max();

/// Consecutive slots.
struct slot_range {
  slot first = 0;
  slot count = 0;
  [[nodiscard]] unit_run units() const noexcept { return {first, count}; }
};

/// Adds a slot. It extends the last run if it follows it; `border`, the first staging slot, always begins a new run.
inline void append(std::pmr::vector<unit_run>& runs, slot s, slot border) {
  if (!runs.empty() && runs.back().end() == s && s != border) {
    ++runs.back().length;
  } else {
    runs.push_back({s, 1});
  }
}

/// The destination of a block. rank −1: the slot is free; −2 − r: a block for rank r is on its way into it.
struct address {
  std::int32_t rank = -1;
  slot index = 0;
};

class block_map;

/// A permutation of blocks, which can be done in several steps. source[s] is the slot whose block moves to slot s, or
/// no_slot; `spare` is a free slot.
class permutation {
 public:
  permutation(block_map& map, std::span<slot> source, slot spare) : map_(map), source_(source), spare_(spare) {}
  /// Moves at most `most` blocks; true when all are where they belong.
  bool go_on(std::size_t most);

 private:
  bool find_chain();
  void move(slot from, slot to);

  block_map& map_;
  std::span<slot> source_;
  slot spare_;
  slot at_ = 0;                 // where to look for the next chain
  slot free_region_ = no_slot;  // the free slot of the chain that is being followed
  slot end_ = no_slot;   // where that chain ends: at a slot to which no block moves, or where the spare block belongs
  bool cycles_ = false;  // no chain begins at a free slot any more
  std::size_t left_ = 0;
};

/// The destination of the block in each slot, with the blocks themselves.
class block_map {
 public:
  /// All slots free.
  block_map(store& blocks, std::pmr::memory_resource* memory) : store_(&blocks), at_(memory) {
    array_list::take(*this, as_size(blocks.end()));
  }

  [[nodiscard]] const address& operator[](slot s) const noexcept { return at_[s]; }
  [[nodiscard]] bool free(slot s) const noexcept { return at_[s].rank == -1; }
  /// The slot holds all of a block.
  [[nodiscard]] bool whole(slot s) const noexcept { return at_[s].rank >= 0; }
  /// Throws usage_error for a slot that is not there.
  void set(slot s, const address& a) {
    if (s >= at_.size()) no_such_slot(s);
    at_[s] = a;
  }
  /// A block for `a` will be received into the slot; came() reports its arrival. In between the slot is marked, because
  /// after a failure its bytes must not be taken for data.
  void expect(slot s, const address& a) { set(s, {-2 - a.rank, a.index}); }
  void arrived(slot s) noexcept { at_[s].rank = -2 - at_[s].rank; }
  void arrived(const unit_run& r) noexcept {
    for (count_t s = r.at; s < r.end(); ++s) arrived(static_cast<slot>(s));
  }
  /// The same for a block that belongs here.
  void expect_here(slot s, std::int32_t self) noexcept { at_[s].rank = -2 - self; }
  void settled(slot s, std::int32_t self) noexcept { at_[s] = {self, s}; }
  /// A number that a slot keeps while it is free, or expects the block that belongs there.
  void link(slot s, slot next) noexcept { at_[s].index = next; }
  void clear(slot s) noexcept { at_[s].rank = -1; }
  void clear(const unit_run& r) noexcept {
    for (count_t s = r.at; s < r.end(); ++s) clear(static_cast<slot>(s));
  }
  /// Moves a block with its destination to a free slot.
  void move(slot from, slot to) {
    store_->copy(from, to);
    at_[to] = at_[from];
    at_[from].rank = -1;
  }
  [[nodiscard]] store& units() const noexcept { return *store_; }
  /// The indices of all slots, `index_stride` words from one to the next.
  [[nodiscard]] std::span<const std::uint32_t> indices() const noexcept {
    return {&at_.front().index, index_stride * (at_.size() - 1) + 1};
  }
  static constexpr std::size_t index_stride = sizeof(address) / sizeof(std::uint32_t);
  /// Slots of the caller's array, and all.
  [[nodiscard]] slot blocks() const noexcept { return static_cast<slot>(store_->border()); }
  [[nodiscard]] slot slots() const noexcept { return static_cast<slot>(at_.size()); }

  /// A counting sort of the blocks by destination, staging included, without those for rank `left_out`. Where each
  /// rank's part begins, and the total last: `at`, ranks + 1. Returns how many are left out.
  std::uint32_t begins(std::span<std::uint32_t> at, int left_out = -1) const noexcept;
  /// Then calls put(k, s) for each of these blocks: the block in slot s is the k-th of them.
  template <class Put>
  void partition(std::span<std::uint32_t> at, int left_out, Put put) const {
    for (slot s = 0; s < slots(); ++s)
      if (whole(s) && at_[s].rank != left_out) put(at[as_size(at_[s].rank)]++, s);
    // Each begin has moved to the end of its part, which is the begin of the next one.
    std::shift_right(at.begin(), at.end(), 1);
    at.front() = 0;
  }

  /// The sources of blocks in a permutation: sort_bytes.
  struct sort_tables;
  /// For a permutation that sorts the blocks by destination rank, free slots last; blocks of a rank keep their order.
  [[nodiscard]] sort_tables by_rank(int ranks, std::pmr::memory_resource* memory) const;
  /// For one that puts every block of rank `self` to its index, with an entry for each slot.
  void by_index(std::int32_t self, std::span<slot> source) const;

  /// Sorts the blocks in place. Each block is copied at most once, and one block per closed cycle of slots once more,
  /// through `spare`, a free slot. Linear; uses sort_bytes from `memory` meanwhile.
  void sort(int ranks, slot spare, std::pmr::memory_resource* memory);
  /// Puts every block to its index; all must be for rank `self`. Copies as for sort; an entry of `table` for each slot.
  void place(std::int32_t self, slot spare, std::span<slot> table);

  static std::size_t bytes(std::size_t slots) noexcept { return array_list::bytes<block_map>(slots); }
  static std::size_t sort_bytes(std::size_t slots, std::size_t ranks) noexcept {
    return array_list::bytes<sort_tables>(slots, ranks);
  }

  struct sort_tables {
    sort_tables(std::size_t slots, std::size_t ranks, std::pmr::memory_resource* memory)
        : source(memory), next(memory) {
      array_list::take(*this, slots, ranks);
      std::ranges::fill(source, no_slot);
    }
    std::pmr::vector<slot> source;  // the slot whose block moves to a slot
    std::pmr::vector<slot> next;    // where the next block for a rank goes

    template <class Each>
    static constexpr void arrays(Each each, std::size_t slots, std::size_t ranks) {
      each(&sort_tables::source, slots);
      each(&sort_tables::next, ranks + 1);
    }
  };

 private:
  friend struct array_list;
  template <class Each>
  static constexpr void arrays(Each each, std::size_t slots) {
    each(&block_map::at_, slots);
  }
  [[noreturn]] void no_such_slot(slot s) const;

  store* store_;
  std::pmr::vector<address> at_;
};

}  // namespace taquin::detail
