// A small pool inside the plan: the few short arrays of an exchange between few ranks need no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "base/outliving.hpp"

namespace taquin::detail {

/// Allocates from its own bytes while they last, then from the heap. Bytes freed in reverse order are used again. It is
/// below the memory_budget, which counts all the same. If it must outlive its owner, the owner's memory is to be kept:
/// `tell_at_end`.
class inline_pool final : public std::pmr::memory_resource, public outliving {
 public:
  // The bytes stay uninitialised: clearing them would cost more than the pool saves.
  inline_pool() noexcept {}  // NOLINT
  inline_pool(const inline_pool&) = delete;
  inline_pool& operator=(const inline_pool&) = delete;
  ~inline_pool() override {
    if (outlived_ != nullptr) *outlived_ = outlives_;
  }

  void outlive() noexcept override { outlives_ = true; }
  /// Its destructor stores here whether its bytes must stay.
  void report_at_end(bool& outlived) noexcept { outlived_ = &outlived; }

  /// Bytes of its own.
  static constexpr std::size_t size = 4096;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (alignment > alignof(std::max_align_t) || bytes > pool_.size() || begin > pool_.size() - bytes)
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    used_ = begin + bytes;
    return pool_.data() + begin;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const auto at = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(pool_.data());
    if (at >= pool_.size()) return std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    if (at + bytes == used_) used_ = at;
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  alignas(std::max_align_t) std::array<std::byte, size> pool_;
  std::size_t used_ = 0;
  bool outlives_ = false;
  bool* outlived_ = nullptr;
};

}  // namespace taquin::detail
