// Memory for an array that has to grow: the pages of the array move into it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace taquin::python {

/// Memory of its own, into which another array's pages move: their bytes are not copied, and are there only once.
class pages {
 public:
  /// Room for `bytes`, of which nothing is taken until it is written. Begins as far behind a large page's boundary as
  /// `old` does, so that the kernel moves whole tables of pages. Throws std::bad_alloc.
  pages(std::size_t bytes, std::uintptr_t old);
  ~pages();
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Makes the first `bytes` of `old` the first of this. `old` must be private memory of no file; it stays valid, and
  /// what it holds is lost. Pages that the kernel does not move, and what `old` has of a page only in part, are copied.
  void take(std::byte* old, std::size_t bytes) noexcept;

  /// Whether the kernel moves pages and leaves their old places valid (Linux 5.7).
  static bool can_take() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace taquin::python
