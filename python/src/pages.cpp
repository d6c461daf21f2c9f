#include "pages.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace taquin::python {

namespace {

constexpr std::size_t large_page = std::size_t{1} << 21U;

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void* map(std::size_t bytes) noexcept {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// UCX before 1.15 replaces the C library's mremap by one that loses the new address (issue 8820): this asks the kernel.
// MPI libraries that keep memory registered watch madvise, too, which says that the old pages are not there any more.
bool move_pages(std::byte* from, std::byte* to, std::size_t bytes) noexcept {
#ifdef MREMAP_DONTUNMAP
  const auto moved = static_cast<std::uintptr_t>(
      syscall(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to));
  if (moved != reinterpret_cast<std::uintptr_t>(to)) return false;
  madvise(from, bytes, MADV_DONTNEED);
  return true;
#else
  (void)from, (void)to, (void)bytes;
  return false;
#endif
}

// The kernel may refuse a range that was mapped in parts: each half is tried then, and single pages are copied.
void move_or_copy(std::byte* from, std::byte* to, std::size_t pages) noexcept {
  if (pages == 0 || move_pages(from, to, pages * page_size())) return;
  if (pages == 1) {
    std::memcpy(to, from, page_size());
    return;
  }
  const std::size_t half = pages / 2;
  move_or_copy(from, to, half);
  move_or_copy(from + half * page_size(), to + half * page_size(), pages - half);
}

bool try_once() noexcept {
  void* const both = map(2 * page_size());
  if (both == MAP_FAILED) return false;
  auto* const from = static_cast<std::byte*>(both);
  *from = std::byte{1};
  const bool moved = move_pages(from, from + page_size(), page_size()) && *from == std::byte{0};
  munmap(both, 2 * page_size());
  return moved;
}

}  // namespace

pages::pages(std::size_t bytes, std::uintptr_t old) : size_(bytes) {
  const std::size_t behind = old % large_page;
  const std::size_t first = behind / page_size() * page_size();  // of the large page that are not needed
  const std::size_t needed = (behind - first + bytes + page_size() - 1) / page_size() * page_size();
  if (bytes > PTRDIFF_MAX - 2 * large_page) throw std::bad_alloc();
  void* const all = map(needed + large_page);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(all);
  const std::size_t skipped = (first + large_page - reinterpret_cast<std::uintptr_t>(all) % large_page) % large_page;
  if (skipped > 0) munmap(begin, skipped);
  if (skipped < large_page) munmap(begin + skipped + needed, large_page - skipped);
  mapped_ = begin + skipped;
  mapped_bytes_ = needed;
  data_ = begin + skipped + (behind - first);
#ifdef MADV_HUGEPAGE
  if (needed >= 2 * large_page) madvise(mapped_, needed, MADV_HUGEPAGE);  // as NumPy has it for arrays of this size
#endif
}

pages::~pages() { munmap(mapped_, mapped_bytes_); }

void pages::take(std::byte* old, std::size_t bytes) noexcept {
  const std::size_t to_boundary = (page_size() - reinterpret_cast<std::uintptr_t>(old) % page_size()) % page_size();
  const std::size_t head = std::min(bytes, to_boundary);
  const std::size_t whole = (bytes - head) / page_size();
  const std::size_t tail = head + whole * page_size();
  std::memcpy(data_, old, head);
  move_or_copy(old + head, data_ + head, whole);
  std::memcpy(data_ + tail, old + tail, bytes - tail);
}

bool pages::can_take() noexcept {
  static const bool can = try_once();
  return can;
}

}  // namespace taquin::python
