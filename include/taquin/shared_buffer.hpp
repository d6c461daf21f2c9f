// Memory that the ranks of a node can map, so that exchanges between such buffers are plain copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "taquin/language.hpp"

namespace taquin {

/// Memory of `bytes` bytes, all zero, which begins at a page and which other ranks of the node map when an exchange
/// needs it: they then copy blocks out of it without the kernel's help. Every call of taquin recognises it by its
/// address. Pages are taken when they are first written, so that a lack of memory shows only then, as with malloc.
/// fork() does not copy it: parent and child share it. Local. Throws std::bad_alloc, also where the limit on the size
/// of files (RLIMIT_FSIZE) is less.
void* allocate_shared(std::size_t bytes);
/// Frees such memory; no exchange may be in progress in it. Null is allowed. Local.
void free_shared(void* memory) noexcept;
/// The same for containers of std::pmr. Allocations of less than a page are dear: a page and a file descriptor each.
std::pmr::memory_resource& shared_resource() noexcept;

/// `size` values in such memory. Move-only.
template <class T>
class shared_buffer {
  static_assert(std::is_trivially_copyable_v<T>, "exchanges copy bytes");
  static_assert(alignof(T) <= 4096, "the memory begins at a page, and is aligned to no more than that");

 public:
  shared_buffer() noexcept = default;
  /// `size` values of T{}. Where all bytes of T{} are zero, as for numbers, pages are taken only when they are first
  /// written. Throws std::bad_alloc.
  explicit shared_buffer(std::size_t size) : shared_buffer() {
    if (size > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    values_ = static_cast<T*>(allocate_shared(size * sizeof(T)));
    size_ = size;
    if (size == 0) return;
    ::new (static_cast<void*>(values_)) T{};
    if (!(std::is_trivially_default_constructible_v<T> && is_zero(values_)))
      std::uninitialized_value_construct_n(values_ + 1, size - 1);
  }
  /// The other is empty then.
  shared_buffer(shared_buffer&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// The other has this one's values then.
  shared_buffer& operator=(shared_buffer&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~shared_buffer() { free_shared(values_); }

  /// The values.
  [[nodiscard]] T* data() const noexcept { return values_; }
  /// How many there are.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The first value.
  [[nodiscard]] T* begin() const noexcept { return values_; }
  /// Behind the last one.
  [[nodiscard]] T* end() const noexcept { return values_ + size_; }
  /// One of them.
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return values_[i]; }
  /// All of them.
  operator std::span<T>() const noexcept { return {values_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  static bool is_zero(const T* value) noexcept {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(value);
    return std::all_of(bytes, bytes + sizeof(T), [](unsigned char b) { return b == 0; });
  }

  T* values_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace taquin
