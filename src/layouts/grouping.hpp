// An array's runs brought together by the stream that each belongs to, and back, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "layouts/dealer.hpp"
#include "layouts/owner_runs.hpp"

namespace taquin::detail {

/// Deals the runs to pages of one stream each (a dealer), moves the pages of each stream together along cycles, and
/// puts what has filled no page behind them. Back: the same steps in the reverse order.
///
/// Memory: a page for each stream and one more, and 4 bytes for each page of the array.
class grouping {
 public:
  /// What it takes from its memory for arrays of at most `most` bytes.
  static std::size_t bytes(std::size_t streams, std::size_t page_bytes, std::size_t most) noexcept;
  /// The size of a page: the one that takes least memory, or a larger one within `room`.
  static std::size_t page_for(std::size_t streams, std::size_t most, std::size_t room) noexcept;

  grouping(std::size_t streams, std::size_t page_bytes, std::size_t most, std::pmr::memory_resource* memory);

  /// `runs`: of the array in the order of its memory. Afterwards the bytes of stream 0 come first, in their order.
  void group(std::byte* data, const owner_runs& runs);
  /// From streams to `runs`.
  void scatter(std::byte* data, const owner_runs& runs);

 private:
  void restart();
  void make_first();

  std::size_t streams_;
  std::size_t page_;
  dealer dealer_;
  std::pmr::vector<std::uint32_t> pages_;
  std::pmr::vector<std::size_t> first_;  // page of each stream
  std::pmr::vector<std::byte> spare_;
};

}  // namespace taquin::detail
