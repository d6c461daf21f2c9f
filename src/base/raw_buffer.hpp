// Bytes from a memory resource, uninitialised: clearing memory that is about to be overwritten costs time, most of all
// with many processes that share a cache.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace taquin::detail {

class raw_buffer {
 public:
  static constexpr std::size_t bytes(std::size_t size) noexcept { return size; }
  explicit raw_buffer(std::pmr::memory_resource* memory) : raw_buffer(0, memory) {}
  raw_buffer(std::size_t size, std::pmr::memory_resource* memory)
      : memory_(memory), size_(size), data_(size > 0 ? static_cast<std::byte*>(memory->allocate(size)) : nullptr) {}
  raw_buffer(const raw_buffer&) = delete;
  raw_buffer& operator=(const raw_buffer&) = delete;
  ~raw_buffer() {
    if (data_ != nullptr) memory_->deallocate(data_, size_);
  }

  /// Frees the present bytes and allocates `size`.
  void reset(std::size_t size) {
    if (data_ != nullptr) memory_->deallocate(data_, size_);
    data_ = nullptr;
    size_ = 0;
    if (size == 0) return;
    data_ = static_cast<std::byte*>(memory_->allocate(size));
    size_ = size;
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::pmr::memory_resource* memory_;
  std::size_t size_;
  std::byte* data_;
};

}  // namespace taquin::detail
