// The one source of scratch memory: a memory resource that counts before it gives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <string>

#include "taquin/error.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A memory resource with a limit in bytes. A request over the limit throws `budget_exceeded` and takes nothing.
/// Not thread safe: one budget serves one plan. The resource that it draws from must outlive it.
class memory_budget final : public std::pmr::memory_resource {
 public:
  /// A limit in bytes, and where the memory comes from.
  explicit memory_budget(std::size_t limit = unlimited,
                         std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) noexcept
      : limit_(limit), upstream_(upstream) {}
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;

  /// Bytes allowed.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Bytes taken now.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  /// The most bytes ever taken at once.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

  /// Counts bytes that come from elsewhere, as if they were allocated here: throws `budget_exceeded` over the limit.
  void charge(std::size_t bytes) {
    if (bytes > limit_ - used_)
      throw budget_exceeded(std::to_string(bytes) + " bytes asked for with " + std::to_string(used_) + " of " +
                                std::to_string(limit_) + " bytes in use",
                            bytes, used_, limit_);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
  }
  /// Takes back what was charged.
  void discharge(std::size_t bytes) noexcept { used_ -= bytes; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    charge(bytes);
    try {
      return upstream_->allocate(bytes, alignment);
    } catch (...) {
      discharge(bytes);
      throw;
    }
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(memory, bytes, alignment);
    discharge(bytes);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t limit_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::pmr::memory_resource* upstream_;
};

}  // namespace taquin::detail
