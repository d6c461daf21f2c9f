// Buffers of many gigabytes in little memory: a small file mapped over and over, with pages of their own in between.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <span>
#include <system_error>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::test {

/// Blocks of bytes, each right behind the one before, and a page behind them. All stretches of `file_bytes` are the
/// same memory, except for the pages around the spots that are looked at, which are memory of their own: the ends of
/// each block, and what lies at multiples of `every` in it.
class mapped_buffer {
 public:
  static constexpr count_t file_bytes = count_t{16} << 20;
  static constexpr count_t every = count_t{1} << 29;
  static constexpr count_t page = 4096;
  static constexpr count_t spot = 64;  ///< bytes looked at
  static constexpr std::byte guard{0x5a};

  explicit mapped_buffer(std::span<const count_t> sizes) : sizes_(sizes.begin(), sizes.end()) {
    for (const count_t size : sizes_) size_ += size;
    mapped_ = (size_ + 2 * page + file_bytes - 1) / file_bytes * file_bytes;
    base_ = static_cast<std::byte*>(map(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1));
    const int file = memfd_create("taquin_test", 0);
    if (file < 0 || ftruncate(file, file_bytes) != 0) fail("memfd_create");
    for (count_t at = 0; at < mapped_; at += file_bytes)
      map(base_ + at, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file);
    close(file);
    std::set<count_t> pages{size_ / page * page, size_ / page * page + page};
    for (std::size_t b = 0; b < sizes_.size(); ++b)
      for_each(b, [&](count_t at, count_t) { pages.insert(at / page * page); });
    for (const count_t at : pages) {
      map(base_ + at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
      std::memset(base_ + at, static_cast<int>(guard), page);
    }
  }
  mapped_buffer(const mapped_buffer&) = delete;
  mapped_buffer& operator=(const mapped_buffer&) = delete;
  ~mapped_buffer() { munmap(base_, static_cast<std::size_t>(mapped_)); }

  [[nodiscard]] std::byte* data() const noexcept { return base_; }

  /// The spots of block `b` get data that distinguish it from others by `key`.
  void write(std::size_t b, int key) const {
    for_each(b, [&](count_t at, count_t i) { base_[at] = pattern(i, key); });
  }
  /// How many of its bytes differ from that.
  [[nodiscard]] std::size_t wrong(std::size_t b, int key) const {
    std::size_t wrong = 0;
    for_each(b, [&](count_t at, count_t i) { wrong += base_[at] == pattern(i, key) ? 0U : 1U; });
    return wrong;
  }
  /// How many bytes behind the last block have been written.
  [[nodiscard]] std::size_t touched_behind() const {
    return static_cast<std::size_t>(
        std::count_if(base_ + size_, base_ + size_ + page, [](std::byte v) { return v != guard; }));
  }

 private:
  static void* map(void* at, count_t size, int protection, int flags, int file) {
    void* place = mmap(at, static_cast<std::size_t>(size), protection, flags, file, 0);
    if (place == MAP_FAILED) fail("mmap");
    return place;
  }
  [[noreturn]] static void fail(const char* call) { throw std::system_error(errno, std::generic_category(), call); }
  static std::byte pattern(count_t i, int key) {
    const auto v = static_cast<std::uint64_t>(i * 8 + key) * 0x9e3779b97f4a7c15U;
    return static_cast<std::byte>(v >> 56U);
  }
  /// f(place in the buffer, place in the block) for each byte of the block's spots.
  template <class F>
  void for_each(std::size_t b, F f) const {
    const count_t begin = std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(b), count_t{0});
    const count_t size = sizes_[b];
    const auto poll = [&](count_t from, count_t to) {
      for (count_t i = std::max<count_t>(from, 0); i < std::min(to, size); ++i) f(begin + i, i);
    };
    for (count_t at = 0; at < size; at += every) poll(at - spot, at + spot);
    poll(size - spot, size);
  }

  std::vector<count_t> sizes_;
  count_t size_ = 0;
  count_t mapped_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace taquin::test
