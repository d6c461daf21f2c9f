// The one source of scratch memory: a memory resource that counts before it allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

#include "base/outliving.hpp"
#include "taquin/error.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A memory resource with a limit in bytes. A request over the limit throws `budget_exceeded` and takes nothing.
/// Not thread safe: one budget serves one plan. The resource that it draws from must outlive it.
class memory_budget final : public std::pmr::memory_resource, public outliving {
 public:
  /// A limit in bytes, and the source of the memory.
  explicit memory_budget(std::size_t limit = unlimited,
                         std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) noexcept
      : limit_(limit), upstream_(upstream) {}
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;
  ~memory_budget() override { drop_aside(); }

  /// Bytes allowed.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Bytes taken now.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// The peak of allocated bytes.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  /// Counts bytes from elsewhere as if they were allocated here: throws `budget_exceeded` over the limit.
  void charge(std::size_t bytes) {
    if (bytes > limit_ - used_)
      throw budget_exceeded(std::to_string(bytes) + " bytes asked for with " + std::to_string(used_) + " of " +
                                std::to_string(limit_) + " bytes in use",
                            bytes, used_, limit_);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
  }
  /// Subtracts charged bytes.
  void discharge(std::size_t bytes) noexcept { used_ -= bytes; }

  /// Allocates and counts so many bytes now, for requests after use_aside(): they find memory whatever the heap has
  /// left then. May throw as allocate() does. Once at a time.
  void set_aside(std::size_t bytes) {
    aside_ = static_cast<std::byte*>(allocate(bytes, alignof(std::max_align_t)));
    aside_size_ = bytes;
  }
  /// From now on requests are served from the memory set aside while it lasts; they are counted already.
  void use_aside() noexcept { aside_in_use_ = aside_ != nullptr; }
  /// Frees the memory set aside. Nothing that was served from it may be in use.
  void drop_aside() noexcept {
    if (aside_ == nullptr) return;
    std::byte* const aside = aside_;
    aside_ = nullptr;
    aside_in_use_ = false;
    aside_used_ = 0;
    deallocate(aside, aside_size_, alignof(std::max_align_t));
  }

  /// Memory that is freed from now on is kept.
  void outlive() noexcept override {
    outlives_ = true;
    detail::outlive(upstream_);
  }

 private:
  // Null where it does not suffice.
  void* from_aside(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t at = (aside_used_ + alignment - 1) / alignment * alignment;
    if (alignment > alignof(std::max_align_t) || bytes > aside_size_ || at > aside_size_ - bytes) return nullptr;
    aside_used_ = at + bytes;
    return aside_ + at;
  }
  [[nodiscard]] bool is_from_aside(const void* memory) const noexcept {
    return aside_ != nullptr &&
           reinterpret_cast<std::uintptr_t>(memory) - reinterpret_cast<std::uintptr_t>(aside_) < aside_size_;
  }
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (aside_in_use_)
      if (void* const served = from_aside(bytes, alignment)) return served;
    charge(bytes);
    try {
      return upstream_->allocate(bytes, alignment);
    } catch (...) {
      discharge(bytes);
      throw;
    }
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    if (is_from_aside(memory)) return;  // given back as a whole
    if (outlives_) [[unlikely]]
      keep_for_ever(memory);
    else
      upstream_->deallocate(memory, bytes, alignment);
    discharge(bytes);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t limit_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::pmr::memory_resource* upstream_;
  std::byte* aside_ = nullptr;
  std::size_t aside_size_ = 0;
  std::size_t aside_used_ = 0;
  bool aside_in_use_ = false;
  bool outlives_ = false;
};

}  // namespace taquin::detail
