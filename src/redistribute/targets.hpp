// The senders of the blocks of each place, as all algorithms use them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "protocol/port.hpp"
#include "redistribute/block_map.hpp"

namespace taquin::detail {

struct table_sizes;

/// The block that belongs into a place, in one word: a kind and a number below 2^30.
class need {
 public:
  enum class kind : std::uint8_t {
    requested,  ///< the number-th of the blocks for this rank: it arrives, or has arrived, in its place
    elsewhere,  ///< the same, not requested
    here,       ///< it is in this slot
    aside       ///< no block belongs here; that of another place is here, the number-th one
  };
  static constexpr word none = ~word{0};
  static constexpr word most = (word{1} << 30U) - 1;
  static constexpr word make(kind what, word number) noexcept {
    return static_cast<word>(what) << shift | (number & most);
  }
  explicit constexpr need(word w) noexcept : word_(w) {}
  [[nodiscard]] constexpr kind what() const noexcept { return static_cast<kind>(word_ >> shift); }
  [[nodiscard]] constexpr word number() const noexcept { return word_ & most; }
  /// The number is one of the blocks for this rank.
  [[nodiscard]] constexpr bool numbered() const noexcept { return what() != kind::here && word_ != none; }

 private:
  static constexpr unsigned shift = 30;
  word word_;
};
/// Blocks of a rank, so that their numbers, and those of staging slots, are below 2^30 − 1.
inline constexpr count_t most_blocks = 1'000'000'000;

/// The senders of this rank's blocks, by place. A rank's own blocks are among those that it sends and receives.
struct targets {
  explicit targets(std::pmr::memory_resource* memory) : out_at(memory), order(memory), in_at(memory), place(memory) {}

  std::pmr::vector<std::uint32_t> out_at;  ///< ranks + 1: where each rank's part of `order` begins
  std::pmr::vector<slot> order;           ///< this rank's blocks by destination rank, then slot; empty: they are sorted
  std::pmr::vector<std::uint32_t> in_at;  ///< ranks + 1: where the numbers of each source's blocks begin
  std::pmr::vector<word> place;           ///< `need`, of each slot
  bool overfull = false;                  ///< some rank is sent more blocks than it has places; parts are left out
  bool learnt = false;                    ///< all of it
  bool is_read = false;                   ///< other ranks may read `order`, until all blocks have left
  /// Two blocks for one place, by their numbers.
  struct clash {
    slot place = 0;
    std::array<std::uint32_t, 2> number{};
  };
  std::optional<clash> wanted_twice;

  [[nodiscard]] std::uint32_t leaving(int rank) const { return out_at.back() - count(out_at, rank); }
  [[nodiscard]] std::uint32_t incoming(int rank) const { return in_at.back() - count(in_at, rank); }
  /// The slot of this rank's block `number` for another rank.
  [[nodiscard]] slot slot_of(int to, std::uint32_t number) const {
    const std::uint32_t k = out_at[as_size(to)] + number;
    return order.empty() ? k : order[k];
  }
  /// The source of block `number`.
  [[nodiscard]] int source_of(std::uint32_t number) const;
  /// Of a place, and of each; −1: this rank, or none.
  [[nodiscard]] int source_at(slot x) const;
  [[nodiscard]] std::vector<std::int32_t> sources(slot blocks) const;

  /// Makes `order` of the map, or the destinations' indices in the same order: one counting sort, the counts in
  /// `out_at`.
  enum class listed : std::uint8_t { slots, indices };
  /// The numbers of blocks for each rank in `out_at`, and 0 behind them.
  void count_own(const block_map& map, std::size_t ranks);
  void list(const block_map& map, listed what);
  /// From the indices of incoming blocks, which are first in `place`, to the needs of places.
  void number_places(const block_map& map, int rank);
  /// In place of `order` the places of incoming blocks by number (no_slot: this rank's own), and no `place`.
  void list_places();
  /// Unless it has these.
  void forget_order() noexcept {
    if (!place.empty()) std::pmr::vector<slot>(order.get_allocator()).swap(order);
  }

  static std::size_t bytes(const table_sizes& s) noexcept;
  static std::size_t order_bytes(const table_sizes& s) noexcept;

 private:
  static std::uint32_t count(const std::pmr::vector<std::uint32_t>& at, int rank) {
    return at[as_size(rank) + 1] - at[as_size(rank)];
  }
};

/// From counts, of which the last is 0, to where each begins, the total last.
inline void accumulate(std::span<std::uint32_t> at) { std::exclusive_scan(at.begin(), at.end(), at.begin(), 0U); }

}  // namespace taquin::detail
