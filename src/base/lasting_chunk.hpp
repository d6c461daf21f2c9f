// A chunk of memory outside every limit that can outlive its owner: few calls have one at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

#include "base/outliving.hpp"

namespace taquin::detail {

/// `Bytes` bytes, aligned for any type, not cleared: of the process, which has `Pieces` of them from its start, or of
/// the heap where none is free; null where that has none either.
template <std::size_t Bytes, std::size_t Pieces>
class lasting_chunk {
 public:
  lasting_chunk() noexcept {
    for (number_ = 0; number_ < Pieces; ++number_)
      if (!in_use[number_].exchange(true, std::memory_order_acquire)) {
        data_ = all[number_].data();
        return;
      }
    heap_.reset(new (std::nothrow) std::byte[Bytes]);
    data_ = heap_.get();
  }
  lasting_chunk(const lasting_chunk&) = delete;
  lasting_chunk& operator=(const lasting_chunk&) = delete;
  ~lasting_chunk() {
    if (data_ != nullptr && heap_ == nullptr && !kept_) in_use[number_].store(false, std::memory_order_release);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

  /// It stays as it is until the process ends; one of the process is not used again.
  void keep() noexcept {
    kept_ = true;
    if (heap_ != nullptr) keep_for_ever(heap_.release());
  }

 private:
  struct alignas(std::max_align_t) piece : std::array<std::byte, Bytes> {};
  inline static std::array<piece, Pieces> all;
  inline static std::array<std::atomic<bool>, Pieces> in_use{};

  std::byte* data_ = nullptr;
  std::size_t number_ = 0;
  std::unique_ptr<std::byte[]> heap_;
  bool kept_ = false;
};

}  // namespace taquin::detail
