// A small pool inside the plan: the few short arrays of an exchange between few ranks need no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

namespace taquin::detail {

/// Gives from its own bytes while they last, then from the heap. What is returned in reverse order is used again. It
/// stands below the memory_budget, which counts all the same.
class inline_pool final : public std::pmr::memory_resource {
 public:
  // The bytes stay uninitialised: clearing them would cost more than the pool saves.
  inline_pool() noexcept {}  // NOLINT
  inline_pool(const inline_pool&) = delete;
  inline_pool& operator=(const inline_pool&) = delete;

  /// What is set aside is in no budget until it is asked for. So there is a bound, which algorithms of some 800 ranks
  /// need; where more is wanted nothing is set aside.
  static constexpr std::size_t most_set_aside = std::size_t{48} << 10U;
  /// So many bytes will be there when they are asked for in pieces, whatever the heap has left then. May throw
  /// bad_alloc.
  void set_aside(std::size_t bytes) {
    if (bytes > pool_.size() && bytes <= most_set_aside) spare_.reset(new std::byte[spare_size_ = bytes]);
  }
  void forget_spare() noexcept {
    if (spare_used_ == 0) spare_.reset();
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
    if (alignment > alignof(std::max_align_t) || bytes > pool_.size() || begin > pool_.size() - bytes) {
      const std::size_t at = (spare_used_ + alignment - 1) / alignment * alignment;
      if (spare_ == nullptr || alignment > alignof(std::max_align_t) || bytes > spare_size_ || at > spare_size_ - bytes)
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
      spare_used_ = at + bytes;
      return spare_.get() + at;
    }
    used_ = begin + bytes;
    return pool_.data() + begin;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    const auto at = reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(pool_.data());
    if (spare_ != nullptr &&
        reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(spare_.get()) < spare_size_)
      return;  // all at once
    if (at >= pool_.size()) return std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    if (at + bytes == used_) used_ = at;
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  alignas(std::max_align_t) std::array<std::byte, 4096> pool_;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte[]> spare_;
  std::size_t spare_size_ = 0;
  std::size_t spare_used_ = 0;
};

}  // namespace taquin::detail
