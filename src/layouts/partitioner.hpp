// Runs of bytes of one array, partitioned into streams and back, in place and in little scratch memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <vector>

namespace taquin::detail {

/// Partitions the runs of an array into streams, in place. Full pages of one stream are moved to the front of the
/// array, over bytes that were read already. The rest of a stream waits in its buffer of one page. So the array becomes
/// pages, each of one stream, and the last rest of each stream stays in its buffer. `gather` is `partition` backwards.
class partitioner {
 public:
  /// With `pretends` only pretend() is called, which needs no buffers.
  partitioner(std::size_t streams, std::size_t page_bytes, std::pmr::memory_resource* memory, bool pretends = false)
      : page_(page_bytes),
        buffers_(pretends ? 0 : streams * page_bytes, std::byte{}, memory),
        fill_(streams, 0, memory) {}

  /// As when it was made.
  void restart() noexcept {
    std::ranges::fill(fill_, std::size_t{0});
    at_ = 0;
    pages_ = 0;
  }
  /// The next `bytes` of the array at `data` belong to `stream`; `on_page(stream)` is called for every full page.
  template <class OnPage>
  void partition(std::byte* data, std::size_t stream, std::size_t bytes, OnPage&& on_page) {
    std::byte* const buffer = buffers_.data() + stream * page_;
    while (bytes > 0) {
      const std::size_t waiting = fill_[stream];
      const std::size_t full = (waiting + bytes) / page_;
      if (full == 0) {
        std::memcpy(buffer + waiting, data + at_, bytes);
        at_ += bytes;
        fill_[stream] += bytes;
        return;
      }
      // All bytes before the end of these have been read: there is space for the pages.
      const std::size_t n = full * page_ - waiting;
      std::byte* const to = data + pages_ * page_;
      if (to + waiting != data + at_) std::memmove(to + waiting, data + at_, n);
      std::memcpy(to, buffer, waiting);
      at_ += n;
      bytes -= n;
      pages_ += full;
      fill_[stream] = 0;
      for (std::size_t i = 0; i < full; ++i) on_page(stream);
    }
  }
  /// As `partition()`, without data: finds the stream of each page.
  template <class OnPage>
  void pretend(std::size_t stream, std::size_t bytes, OnPage&& on_page) {
    at_ += bytes;
    for (fill_[stream] += bytes; fill_[stream] >= page_; fill_[stream] -= page_, ++pages_) on_page(stream);
  }
  /// The last `bytes` before those gathered already are taken from the end of `stream`.
  void gather(std::byte* data, std::size_t stream, std::size_t bytes) {
    std::byte* const buffer = buffers_.data() + stream * page_;
    const std::size_t waiting = std::min(bytes, fill_[stream]);
    fill_[stream] -= waiting;
    at_ -= waiting;
    bytes -= waiting;
    std::memcpy(data + at_, buffer + fill_[stream], waiting);
    if (bytes == 0) return;
    // The last pages are of this stream. The bytes after them have been gathered: they move up.
    const std::size_t full = (bytes + page_ - 1) / page_;
    const std::size_t rest = full * page_ - bytes;  // of the first of them
    pages_ -= full;
    at_ -= bytes;
    std::byte* const from = data + pages_ * page_;
    if (from + rest != data + at_) std::memmove(data + at_, from + rest, bytes);
    std::memcpy(buffer, from, rest);
    fill_[stream] = rest;
  }
  /// The bytes that fill no page.
  [[nodiscard]] std::byte* rest(std::size_t stream) noexcept { return &buffers_[stream * page_]; }
  [[nodiscard]] std::size_t rest_bytes(std::size_t stream) const noexcept { return fill_[stream]; }
  [[nodiscard]] static std::size_t footprint(std::size_t streams, std::size_t page_bytes) noexcept {
    return streams * (page_bytes + sizeof(std::size_t));
  }

 private:
  std::size_t page_;
  std::pmr::vector<std::byte> buffers_;
  std::pmr::vector<std::size_t> fill_;
  std::size_t at_ = 0;     ///< bytes of the array that are partitioned
  std::size_t pages_ = 0;  ///< full pages at the front of the array
};

}  // namespace taquin::detail
