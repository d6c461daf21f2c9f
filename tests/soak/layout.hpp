// The buffers of one rank in a random exchange: where its blocks lie, what is in them, and what must be afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "soak/recipe.hpp"
#include "support/types.hpp"

namespace taquin::soak {

/// Consecutive bytes.
struct stretch {
  count_t offset;
  count_t length;
};

/// A datatype and where its data lie, from the origin of an element, in the order in which they are sent.
struct layout_type {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  count_t size = 0;
  count_t extent = 0;
  count_t low = 0;   ///< the first data byte
  count_t high = 0;  ///< behind the last one
  bool interleaves = false;
  std::vector<stretch> stretches;

  /// Consecutive elements are consecutive bytes.
  [[nodiscard]] bool plain() const noexcept { return stretches.size() == 1 && low == 0 && size == extent; }
};

/// The types of both sides of a block: the same signature, not always the same layout.
struct type_sides {
  std::string_view name;
  layout_type send;
  layout_type recv;
};

using test::interleaved_elements;

/// Made once, when MPI runs, and given back before it ends.
std::span<const type_sides> all_types();
void release_types();
/// As many of the first of them can lie in any order.
std::size_t plain_types();

/// The filler of all places without data.
inline constexpr std::byte guard{0xa5};

/// Data that distinguish their block from all others: `n` bytes from byte number 0 on.
void write_stream(std::uint64_t key, std::byte* to, count_t n) noexcept;
/// The data bytes of `n` elements, between their places from `origin` on and a row.
void scatter(const layout_type& t, const std::byte* row, std::byte* origin, count_t n) noexcept;
void gather(const layout_type& t, const std::byte* origin, std::byte* row, count_t n) noexcept;

/// Bytes that differ.
[[nodiscard]] std::size_t differences(const std::byte* a, const std::byte* b, std::size_t n);

/// One side of one rank.
struct side {
  std::vector<count_t> counts, displs;           ///< as MPI gets them
  std::vector<std::int32_t> counts32, displs32;  ///< the same
  std::vector<count_t> origins;                  ///< bytes from the base
  std::vector<const layout_type*> types;
  std::vector<MPI_Datatype> handles;
  count_t end = 0;  ///< bytes from the base, behind all data

  void lay_out(const recipe& r, int rank, bool receives);
};

class buffers {
 public:
  /// Room and layout for this rank's part of the exchange.
  void prepare(const recipe& r, int rank);
  /// Data of exchange number `salt` where something is sent, guards everywhere else.
  void fill(std::uint64_t salt);
  /// Bytes that are not what the exchange number `salt` must have left; 0 when all is right.
  [[nodiscard]] std::size_t wrong();
  /// True where nothing has been written since fill().
  [[nodiscard]] bool untouched();
  /// The exchange as taquin gets it.
  [[nodiscard]] exchange given(MPI_Comm comm);
  /// The MPI library's own call, with the same arguments.
  void call_library(MPI_Comm comm);
  /// Elements to this peer change, which the peer does not know.
  void expect_more_from(int peer) noexcept { ++recv_.counts[static_cast<std::size_t>(peer)]; }
  /// Bytes of both buffers.
  [[nodiscard]] std::size_t bytes() const noexcept { return send_bytes_ + recv_bytes_; }

 private:
  void write_side(const side& s, bool receives, std::byte* base);
  void keep_sent(std::byte* image);
  void image_before(std::byte* image, bool receives);

  recipe recipe_;
  int rank_ = 0;
  std::uint64_t salt_ = 0;
  side send_, recv_;
  std::size_t send_bytes_ = 0, recv_bytes_ = 0;
  std::vector<std::byte> send_buffer_, recv_buffer_, image_, row_;
};

}  // namespace taquin::soak
