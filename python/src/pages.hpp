// Memory for an array that has to grow: the pages of the array move into it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace taquin::python {

/// Memory into which another array's pages move: their bytes are not copied, and exist only once.
class pages {
 public:
  /// Space for `bytes`, which is allocated when it is written. Begins as far after a large page's boundary as
  /// `old` does, so that the kernel moves whole tables of pages. Throws std::bad_alloc.
  pages(std::size_t bytes, std::uintptr_t old);
  ~pages();
  pages(const pages&) = delete;
  pages& operator=(const pages&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Makes the first `bytes` of `old` the first of this. `old` must be private memory of no file; it stays valid, and
  /// its content is lost. Pages that the kernel does not move, and pages that `old` has only in part, are copied.
  void take(std::byte* old, std::size_t bytes) noexcept;

  /// Whether the kernel moves pages and leaves their old places valid (Linux 5.7).
  static bool can_take() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

/// The memory of an array before an exchange in place, and during it.
struct storage {
  /// `into` is None, or Pages that are at `address`.
  storage(std::uintptr_t from, std::size_t used, std::uintptr_t address, const pybind11::object& into)
      : old(at(from)), bytes(used), now(at(address)), moved(into.is_none() ? nullptr : into.cast<pages*>()) {}
  /// Moves the data to their place during the exchange; those in the old memory are lost. Without memory of Python's.
  [[nodiscard]] std::byte* take() const noexcept {
    if (moved != nullptr)
      moved->take(old, bytes);
    else if (now != old && bytes > 0)
      std::memcpy(now, old, bytes);
    return now;
  }
  std::byte* old;
  std::size_t bytes;
  std::byte* now;
  pages* moved;

 private:
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python gives addresses as numbers
  static std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }
};

}  // namespace taquin::python
