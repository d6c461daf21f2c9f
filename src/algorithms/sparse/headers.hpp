// The header of an incoming block, how it is written in messages, and where it is kept.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/sizes.hpp"
#include "taquin/exchange.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// An incoming block: its data must be requested, or have arrived with its notice.
struct header {
  static constexpr std::int32_t here = -1;  ///< instead of a destination: the data have arrived; less: where they lie
  std::int32_t from = 0;
  std::int32_t to = 0;
  count_t count = 0;  ///< elements
  count_t first = 0;  ///< elements of the sender's data before the block

  [[nodiscard]] bool has_arrived() const noexcept { return to < 0; }
  bool operator==(const header&) const = default;
};

/// The blocks that a rank sends, which are consecutive.
struct sparse_data {
  const std::byte* at = nullptr;
  taquin::element element{};
  count_t to_send = 0;  ///< elements of this rank for all
};

/// A notice in a message: its head, then the block's data if they are in it, up to a multiple of 8 bytes.
struct header_fields {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t reported = 0;  ///< elements, doubled; one more where the data follow
  std::int64_t first = 0;

  [[nodiscard]] bool has_data() const noexcept { return (reported & 1) != 0; }
  [[nodiscard]] count_t count() const noexcept { return reported >> 1U; }
  /// Bytes of head and data, for elements of so many bytes.
  [[nodiscard]] std::size_t bytes(count_t element_bytes) const noexcept {
    return sizeof(header_fields) + (has_data() ? (as_size(count() * element_bytes) + 7) / 8 * 8 : 0);
  }
  static header_fields of(std::span<const std::byte> message) noexcept {
    header_fields h;
    std::memcpy(&h, message.data(), sizeof h);
    return h;
  }
};

/// This rank's own blocks one by one, as messages have them.
class own_headers {
 public:
  /// Data of blocks up to `carried` bytes are sent with their notices. The arguments must outlive it.
  own_headers(int rank, std::span<const int> destinations, const count_view& counts, const sparse_data& mine,
              std::size_t piggybacked)
      : rank_(rank), destinations_(destinations), counts_(counts), mine_(mine), piggybacked_(piggybacked) {}

  [[nodiscard]] bool done() const noexcept { return next_ == destinations_.size(); }
  [[nodiscard]] header_fields head() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return head().bytes(mine_.element.size); }
  /// Writes the next one, bytes() of them, and moves on to the one after it.
  void write(std::byte* to);
  /// Goes on without it.
  void skip() noexcept;
  void rewind() noexcept { next_ = 0, first_ = left_ = 0; }
  /// Elements so far whose data are not sent with their notices.
  [[nodiscard]] count_t left() const noexcept { return left_; }

 private:
  int rank_;
  std::span<const int> destinations_;
  count_view counts_;
  const sparse_data& mine_;
  std::size_t piggybacked_;
  std::size_t next_ = 0;
  count_t first_ = 0;
  count_t left_ = 0;
};

/// The notices that have arrived at this rank.
class header_store {
 public:
  explicit header_store(std::pmr::memory_resource* memory) : arrived_(memory), headers_(memory) {}

  /// One notice as a message has it.
  void add(std::span<const std::byte> one) {
    const std::size_t n = arrived_.size() + one.size();
    if (n > arrived_.capacity()) arrived_.reserve(std::max(n, 2 * arrived_.capacity()));
    arrived_.insert(arrived_.end(), one.begin(), one.end());
  }
  /// The bytes for so many notices without data, and the most while they are added.
  static constexpr std::size_t bytes(std::size_t blocks) noexcept {
    return blocks == 0 ? 0 : std::bit_ceil(blocks) * sizeof(header_fields);
  }
  static constexpr std::size_t growing_bytes(std::size_t blocks) noexcept {
    return bytes(blocks) + (blocks > 1 ? bytes(blocks) / 2 : 0);
  }
  /// There is no memory for them: the call fails.
  void drop() noexcept;
  /// All of them, by source, those of one source in their order. Of elements of so many bytes.
  std::span<const header> sorted(count_t element_bytes);
  /// The data of a block that have arrived with its notice.
  [[nodiscard]] const std::byte* data(const header& n) const noexcept {
    return arrived_.data() + as_size(header::here - n.to) * 8 + sizeof(header_fields);
  }

 private:
  std::pmr::vector<std::byte> arrived_;
  std::pmr::vector<header> headers_;
};

}  // namespace taquin::detail
