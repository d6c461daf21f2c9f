// Copies of bytes at full speed whatever their alignment.
//
// The C library and the Linux kernel copy long blocks by one instruction (rep movsb). On AMD cores it takes 10 to 30
// times as long where the target is 1 to 31 bytes after the source within their pages of 4 KiB, whichever pages they
// are in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace taquin::detail {

/// Blocks up to this size are copied by loads and stores.
inline constexpr std::size_t short_copy = 2048;

/// The target is so little after the source within a page that long copies are slow.
constexpr bool is_slow_to_copy(std::uintptr_t to, std::uintptr_t from) noexcept {
  constexpr std::uintptr_t page_bytes = 4096;
  constexpr std::uintptr_t near = 31;
  const std::uintptr_t after = (to - from) % page_bytes;
  return after != 0 && after <= near;
}

/// As std::memcpy, in short chunks where long copies are slow. For no bytes the addresses may be null.
inline void copy_bytes(void* to, const void* from, std::size_t n) noexcept {
  if (n == 0) return;
  if (n <= short_copy || !is_slow_to_copy(reinterpret_cast<std::uintptr_t>(to), reinterpret_cast<std::uintptr_t>(from)))
      [[likely]] {
    std::memcpy(to, from, n);
    return;
  }
  for (std::size_t done = 0; done < n; done += short_copy)
    std::memcpy(static_cast<std::byte*>(to) + done, static_cast<const std::byte*>(from) + done,
                std::min(short_copy, n - done));
}

}  // namespace taquin::detail
