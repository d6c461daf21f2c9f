// Irregular Bruck as state machines: the content of each message of the log rounds, without any communication.
//
// Element t of rank u is the block that u sends to u + t (mod p). In the round of weight w it moves z·w ranks up, where
// z is its digit of that weight. A message starts with the sizes of its elements, 2 bytes each, in order; their data
// follow. Elements of more than `threshold` bytes are marked and do not travel: both ends know that their pair is
// direct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "base/arrays.hpp"
#include "base/raw_buffer.hpp"
#include "base/sizes.hpp"
#include "exchange/shape.hpp"
#include "exchange/validate.hpp"
#include "taquin/options.hpp"

namespace taquin::detail::bruck {

/// The size of an element in a message, of bruck_v and of zero_copy_bruck_v.
using size_field = std::uint16_t;
using wide_size = count_t;
template <class Size>
constexpr Size marks_direct = std::numeric_limits<Size>::max();
template <class Size>
constexpr Size marks_unknown = static_cast<Size>(marks_direct<Size> - 1);
constexpr size_field goes_directly = marks_direct<size_field>;
constexpr size_field unknown_size = marks_unknown<size_field>;

/// How irregular blocks are routed; the same on all ranks.
struct route {
  int ranks = 1;
  int radix = 2;
  count_t threshold = 0;  ///< largest block in bytes that takes the log rounds
  count_t largest = 0;    ///< the largest of any rank that does, where its size travels with it
  /// Most bytes of a message: its sizes, and its data when `with_data` is set.
  [[nodiscard]] std::size_t capacity(bool with_data, std::size_t size_bytes = sizeof(size_field)) const noexcept;
  /// The weight of the round that follows the one of weight `weight` for element t; 0 when it has arrived.
  [[nodiscard]] count_t next_weight(count_t weight, int t) const noexcept;
};

/// The sizes of the elements of a rank of a route, as far as it knows them.
template <class Size>
class element_sizes {
 public:
  element_sizes(const local_exchange& x, const route& r, std::pmr::memory_resource* memory);
  static std::size_t bytes(const route& r) noexcept;

  /// True when a block is too large for the log rounds, on either side.
  [[nodiscard]] bool any_direct() const noexcept { return any_direct_; }

  /// Writes the sizes of the elements that the message of this round and digit holds; returns the bytes written.
  std::size_t load(count_t weight, count_t digit, std::span<std::byte> to) const;
  /// Takes them from a message; sizes that a short message does not have are unknown.
  void unload(count_t weight, count_t digit, std::span<const std::byte> from);

  /// The size of element t as this rank has it now.
  [[nodiscard]] Size operator[](int t) const noexcept { return sizes_[as_size(t)]; }
  /// Takes the size of element t from the start of `from`, and shortens `from` by it.
  Size take(int t, std::span<const std::byte>& from) noexcept;
  /// After the last round: the first block whose size is not what this rank expects. With `shorter` set, a block of the
  /// log rounds may be shorter.
  [[nodiscard]] std::optional<invalid_argument> mismatch(bool shorter = false) const;

 private:
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const route& r) {
    each(&element_sizes::sizes_, as_size(r.ranks));
  }

  local_exchange x_;
  route route_;
  std::pmr::vector<Size> sizes_;
  bool any_direct_ = false;
};
using bruck_v_sizes = element_sizes<size_field>;

/// Sizes and data together: the moves of a blocking exchange.
class bruck_v_state {
 public:
  /// Takes bytes(r) from `memory`.
  bruck_v_state(const local_exchange& x, const route& r, std::pmr::memory_resource* memory);
  static std::size_t bytes(const route& r) noexcept;

  [[nodiscard]] bool any_direct() const noexcept { return sizes_.any_direct(); }

  std::size_t load(count_t weight, count_t digit, std::span<std::byte> to);
  /// Where the next message must be received, at most route::capacity bytes. Data stay where they are received.
  [[nodiscard]] std::byte* receive_slot() noexcept { return arrived_.data() + used_; }
  /// `from` begins at receive_slot().
  void unload(count_t weight, count_t digit, std::span<const std::byte> from);
  /// After the last round: the first block that is longer than this rank expects, or is sent directly where this rank
  /// expects it in the log rounds or the reverse.
  [[nodiscard]] std::optional<invalid_argument> mismatch() const { return sizes_.mismatch(true); }
  /// Whether the block from `distance` ranks below is sent directly.
  [[nodiscard]] bool arrives_directly(int distance) const noexcept { return sizes_[distance] == goes_directly; }
  /// Without mismatch: puts what has arrived, and the rank's own block, into the receive buffer.
  void deliver();

  [[nodiscard]] std::uint64_t bytes_copied() const noexcept { return copied_; }

 private:
  friend struct detail::array_list;
  template <class Each>
  static constexpr void arrays(Each each, const route& r) {
    each(&bruck_v_state::arrived_, arriving_bytes(r));
    each(&bruck_v_state::places_, as_size(r.ranks));
  }
  static std::size_t arriving_bytes(const route& r) noexcept;

  local_exchange x_;
  route route_;
  bruck_v_sizes sizes_;
  // The received messages, one after another: as much memory is touched as data arrived, and nothing is moved. After
  // them there is always space for the longest message, whatever a rank sends that has other counts than this one.
  raw_buffer arrived_;
  std::size_t used_ = 0;
  std::pmr::vector<std::uint32_t> places_;  // of each element that has moved
  std::uint64_t copied_ = 0;
};

}  // namespace taquin::detail::bruck
