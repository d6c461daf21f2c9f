// Small pools: the few short arrays of an exchange between few ranks need no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>

#include "base/outliving.hpp"

namespace taquin::detail {

/// Gives from `size` bytes while they last, then from the heap. What is returned in reverse order is used again. It
/// stands below the memory_budget, which counts all the same.
class pool : public std::pmr::memory_resource {
 public:
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  /// Bytes of its own.
  static constexpr std::size_t size = 4096;

 protected:
  /// Null: all comes from the heap.
  explicit pool(std::byte* begin) noexcept : begin_(begin), left_(begin == nullptr ? 0 : size) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (alignment > alignof(std::max_align_t) || bytes > left_ || begin > left_ - bytes)
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    used_ = begin + bytes;
    return begin_ + begin;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const auto at = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(begin_);
    if (at >= left_) return std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    if (at + bytes == used_) used_ = at;
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::byte* begin_;
  std::size_t left_;  // bytes in all
  std::size_t used_ = 0;
};

/// In itself: for calls that give none of it to the MPI library.
class inline_pool final : public pool {
 public:
  // The bytes stay uninitialised: clearing them would cost more than the pool saves.
  inline_pool() noexcept : pool(bytes_.data()) {}  // NOLINT

 private:
  alignas(std::max_align_t) std::array<std::byte, size> bytes_;
};

/// On the heap, where it can outlive its owner.
class sending_pool final : private std::unique_ptr<std::byte[]>, public pool, public outliving {
 public:
  sending_pool() noexcept : std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]), pool(get()) {}
  void outlive() noexcept override {
    if (*this) keep_for_ever(release());
  }
};

}  // namespace taquin::detail
