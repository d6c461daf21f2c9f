// An array's runs brought together by the stream that each belongs to, and back, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <vector>

#include "layouts/partitioner.hpp"

namespace taquin::detail {

/// Partitions the runs into pages of one stream each (`partitioner`), moves the pages of each stream together along
/// cycles, and appends the bytes that fill no page. Back: the same steps in the reverse order.
///
/// Where every run is whole pages nothing is partitioned: pages only change places.
///
/// Memory: a page for each stream and one more, and 4 bytes for each page of the array; of whole pages a single one.
class grouping {
 public:
  /// Bytes that it takes from its memory for arrays of at most `most` bytes.
  static std::size_t bytes(std::size_t streams, std::size_t page_bytes, std::size_t most, bool whole = false) noexcept;
  /// The size of a page: the one that needs least memory, or a larger one within `space`.
  static std::size_t page_for(std::size_t streams, std::size_t most, std::size_t space) noexcept;
  /// The largest worthwhile page of which all runs consist, if their lengths are multiples of `run` bytes: within
  /// `space`, or the one that needs least memory. 0: there is none.
  static std::size_t whole_page_for(std::size_t streams, std::size_t most, std::size_t space, std::size_t run) noexcept;

  /// `whole`: all runs will consist of whole pages.
  grouping(std::size_t streams, std::size_t page_bytes, std::size_t most, std::pmr::memory_resource* memory,
           bool whole = false);

  /// A stream whose pages are together: its pages, the bytes that fill none, and where all of it belongs. That place
  /// overlaps only these pages and later streams, which are in their places.
  struct parts {
    const std::byte* pages;
    std::size_t bytes;  ///< of the pages
    const std::byte* rest;
    std::size_t rest_bytes;
    std::byte* to;
  };
  static void put_together(std::size_t, const parts& p) noexcept {
    if (p.to != p.pages) std::memmove(p.to, p.pages, p.bytes);
    std::memcpy(p.to + p.bytes, p.rest, p.rest_bytes);
  }

  /// `forward(f)` calls f(stream, bytes) for each run of the array, in the order of its memory. Afterwards the bytes of
  /// stream 0 come first, in their order. `put(stream, parts)`, from the last stream to the first, brings each to its
  /// place; it is not called where runs are whole pages, which are in their places then.
  template <class Forward, class Put>
  void group(std::byte* data, Forward forward, Put put) {
    restart();
    std::size_t full = 0;
    forward([&](std::size_t stream, std::size_t n) {
      const auto on_page = [&](std::size_t s) { record_page(full, s); };
      whole_ ? partitioner_.pretend(stream, n, on_page) : partitioner_.partition(data, stream, n, on_page);
    });
    bring_pages_together(data, full);  // now first_ is the end of each stream
    if (whole_) return;
    std::size_t rests = 0;
    for (std::size_t s = 0; s < streams_; ++s) rests += partitioner_.rest_bytes(s);
    for (std::size_t s = streams_; s-- > 0;) {  // rests come in between: from the last stream on, all moves go up
      rests -= partitioner_.rest_bytes(s);
      const std::size_t first = s == 0 ? 0 : first_[s - 1];
      std::byte* const pages = data + first * page_;
      const parts p{pages, (first_[s] - first) * page_, partitioner_.rest(s), partitioner_.rest_bytes(s),
                    pages + rests};
      if (p.bytes + p.rest_bytes > 0) put(s, p);
    }
  }
  /// From streams to the runs, which `backward(f)` goes through from the last one on.
  template <class Forward, class Backward>
  void scatter(std::byte* data, Forward forward, Backward backward) {
    restart();
    std::size_t full = 0;
    forward([&](std::size_t stream, std::size_t n) {
      partitioner_.pretend(stream, n, [&](std::size_t s) { record_page(full, s); });
    });
    take_apart(data, full);
    if (whole_) return;
    backward([&](std::size_t stream, std::size_t n) { partitioner_.gather(data, stream, n); });
  }

 private:
  void restart();
  // The next full page is of this stream.
  void record_page(std::size_t& full, std::size_t stream) {
    pages_[full++] = static_cast<std::uint32_t>(stream);
    ++first_[stream + 1];
  }
  void number_pages();
  // Full pages of each stream one after another; and back, with the rests.
  void bring_pages_together(std::byte* data, std::size_t full);
  void take_apart(std::byte* data, std::size_t full);

  std::size_t streams_;
  std::size_t page_;
  bool whole_;
  partitioner partitioner_;
  std::pmr::vector<std::uint32_t> pages_;
  std::pmr::vector<std::size_t> first_;  // page of each stream
  std::pmr::vector<std::byte> spare_;
};

}  // namespace taquin::detail
