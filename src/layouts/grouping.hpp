// An array's runs brought together by the stream that each belongs to, and back, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "layouts/dealer.hpp"

namespace taquin::detail {

/// Partitions the runs into pages of one stream each (a dealer), moves the pages of each stream together along cycles,
/// and appends the bytes that fill no page. Back: the same steps in the reverse order.
///
/// Memory: a page for each stream and one more, and 4 bytes for each page of the array.
class grouping {
 public:
  /// Bytes that it takes from its memory for arrays of at most `most` bytes.
  static std::size_t bytes(std::size_t streams, std::size_t page_bytes, std::size_t most) noexcept;
  /// The size of a page: the one that needs least memory, or a larger one within `room`.
  static std::size_t page_for(std::size_t streams, std::size_t most, std::size_t room) noexcept;

  grouping(std::size_t streams, std::size_t page_bytes, std::size_t most, std::pmr::memory_resource* memory);

  /// `forward(f)` calls f(stream, bytes) for each run of the array, in the order of its memory. Afterwards the bytes of
  /// stream 0 come first, in their order.
  template <class Forward>
  void group(std::byte* data, Forward forward) {
    restart();
    std::size_t full = 0;
    forward([&](std::size_t stream, std::size_t n) {
      dealer_.deal(data, stream, n, [&](std::size_t s) { note(full, s); });
    });
    bring_together(data, full);
  }
  /// From streams to the runs, which `backward(f)` goes through from the last one on.
  template <class Forward, class Backward>
  void scatter(std::byte* data, Forward forward, Backward backward) {
    restart();
    std::size_t full = 0;
    forward(
        [&](std::size_t stream, std::size_t n) { dealer_.pretend(stream, n, [&](std::size_t s) { note(full, s); }); });
    take_apart(data, full);
    backward([&](std::size_t stream, std::size_t n) { dealer_.collect(data, stream, n); });
  }

 private:
  void restart();
  // The next full page is of this stream.
  void note(std::size_t& full, std::size_t stream) {
    pages_[full++] = static_cast<std::uint32_t>(stream);
    ++first_[stream + 1];
  }
  void number_pages();
  // Full pages and rests of each stream one after another, and back.
  void bring_together(std::byte* data, std::size_t full);
  void take_apart(std::byte* data, std::size_t full);

  std::size_t streams_;
  std::size_t page_;
  dealer dealer_;
  std::pmr::vector<std::uint32_t> pages_;
  std::pmr::vector<std::size_t> first_;  // page of each stream
  std::pmr::vector<std::byte> spare_;
};

}  // namespace taquin::detail
