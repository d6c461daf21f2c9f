// What the program's own code takes from the system, the library that is linked into it included.
#pragma once

#include <cstddef>

namespace taquin::test {

/// Counts while it lives what this thread takes by malloc and all its kin, operator new, and mmap. What the MPI library
/// takes inside its calls is its own: of each request the stack is looked at, and the innermost of the two decides,
/// this program or the MPI library. One at a time. With the address sanitizer, which has the heap to itself, mmap is
/// left out.
class heap_watch {
 public:
  heap_watch();
  heap_watch(const heap_watch&) = delete;
  heap_watch& operator=(const heap_watch&) = delete;
  ~heap_watch();

  /// Bytes taken since the beginning and not given back.
  [[nodiscard]] static std::size_t live() noexcept;
  /// The most of them at once.
  [[nodiscard]] static std::size_t peak() noexcept;
  /// Requests.
  [[nodiscard]] static std::size_t calls() noexcept;
};

}  // namespace taquin::test
