// The memory that a protocol moves data in: the caller's array, then staging, as one range of units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "base/unit_column.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Consecutive units.
struct unit_run {
  count_t at = 0;
  count_t length = 0;
  [[nodiscard]] count_t end() const noexcept { return at + length; }
};

/// Consecutive units that change their place. The two runs may overlap.
struct unit_move {
  count_t from = 0;
  count_t to = 0;
  count_t length = 0;
};

[[nodiscard]] inline count_t units_of(std::span<const unit_run> runs) noexcept {
  count_t n = 0;
  for (const unit_run& r : runs) n += r.length;
  return n;
}

/// A unit is so many elements of one type. Units below `border` lie in the caller's array, in its layout, with gaps if
/// the type has any; those from there on lie in staging, packed. No run crosses the border.
class store {
 public:
  /// `staging` units are taken from `memory`. With `counts_only` there are no data, and nothing is copied.
  /// `columns`, which outlive the store, take the place of `data` where there are any: arrays that have parts of each
  /// unit, which is one element of the bytes of all of them. A packed run has the first column of all its units, then
  /// the second one; staging has an array for each column.
  store(void* data, count_t border, count_t length, const element& e, count_t staging,
        std::pmr::memory_resource* memory, bool counts_only = false, std::span<const unit_column> columns = {});

  [[nodiscard]] count_t border() const noexcept { return border_; }
  /// One past the last unit of staging.
  [[nodiscard]] count_t end() const noexcept { return end_; }
  /// Data bytes of one unit.
  [[nodiscard]] std::size_t unit_bytes() const noexcept { return bytes_; }
  /// Units in the array are `unit_bytes` each and consecutive, as in staging.
  [[nodiscard]] bool plain() const noexcept { return plain_; }
  /// Elements of a unit.
  [[nodiscard]] count_t length() const noexcept { return length_; }
  [[nodiscard]] const taquin::element& element() const noexcept { return element_; }
  [[nodiscard]] bool counts_only() const noexcept { return counts_only_; }
  [[nodiscard]] std::byte* at(count_t unit) noexcept {
    return unit < border_ ? data_ + unit * stride_ : extra_.data() + (unit - border_) * static_cast<count_t>(bytes_);
  }
  void set_data(void* data) noexcept { data_ = static_cast<std::byte*>(data); }

  [[nodiscard]] std::span<const unit_column> columns() const noexcept { return columns_; }
  [[nodiscard]] std::byte* at(count_t unit, const unit_column& c) noexcept {
    if (unit < border_) return c.data + unit * static_cast<count_t>(c.bytes);
    return extra_.data() + as_size(end_ - border_) * c.before + as_size(unit - border_) * c.bytes;
  }

  /// Copies units; the two runs must not overlap.
  void copy(count_t from, count_t to, count_t length = 1);
  /// Moves units; the two runs may overlap.
  void move(const unit_move& m);
  /// Moves so many bytes of it at most, but at least one unit, and subtracts them from `left`: the units that are still
  /// in their old place. Returns whether all have moved.
  bool move_some(unit_move& left, std::size_t bytes);
  /// Moves all of it. Returns false if that fails: the data in the new place may then be damaged.
  bool try_move(const unit_move& left) noexcept;
  /// Packs units into `to`.
  void gather(std::span<const unit_run> from, std::byte* to);
  /// The same, and the reverse, not counted as copied.
  void read(std::span<const unit_run> from, std::byte* to);
  void write(const std::byte* from, const unit_run& to);

  /// Bytes that copy, move and gather have moved.
  [[nodiscard]] std::uint64_t bytes_copied() const noexcept { return copied_; }

 private:
  void pack_run(const unit_run& r, std::byte* to);
  void move_columns(const unit_move& m);

  std::byte* data_;
  count_t border_;
  count_t end_;
  count_t length_;
  taquin::element element_;
  bool plain_;
  bool counts_only_;
  std::size_t bytes_;
  count_t stride_;
  raw_buffer extra_;
  std::span<const unit_column> columns_;
  std::uint64_t copied_ = 0;
};

}  // namespace taquin::detail
