// The memory that the program's own code takes from the system, the library that is linked into it included.
#pragma once

#include <cstddef>

namespace taquin::test {

/// Scope guard: counts this thread's allocations by malloc and all its kin, operator new, and mmap. Allocations of the
/// MPI library inside its calls are its own: of each request the stack is examined, and the innermost of the two
/// decides, this program or the MPI library. One at a time. With the address sanitizer, which has the heap to itself,
/// mmap is left out.
class heap_watch {
 public:
  heap_watch();
  heap_watch(const heap_watch&) = delete;
  heap_watch& operator=(const heap_watch&) = delete;
  ~heap_watch();

  /// Bytes taken since the beginning and not given back.
  [[nodiscard]] static std::size_t live() noexcept;
  /// The peak of their sum.
  [[nodiscard]] static std::size_t peak() noexcept;
  /// Requests.
  [[nodiscard]] static std::size_t calls() noexcept;
};

}  // namespace taquin::test
