// Sizes and indices: of the standard library's containers, and of the machine's memory.
#pragma once

#include <cstddef>
#include <type_traits>

namespace taquin::detail {

/// A rank, a count or a number of bytes as an index or a size of the standard library, whose types are unsigned; MPI's
/// are signed. It is not negative.
template <typename T>
requires std::is_integral_v<T> || std::is_enum_v<T>
[[nodiscard]] constexpr std::size_t as_size(T n) noexcept { return static_cast<std::size_t>(n); }

/// The unit in which caches transfer memory: data that two ranks write are on separate lines.
inline constexpr std::size_t cache_line = 64;
/// The page size of the operating system's memory, on all machines that matter here.
inline constexpr std::size_t page = 4096;

/// The least multiple of `unit` that is at least `bytes`.
[[nodiscard]] constexpr std::size_t up_to_multiple(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}
[[nodiscard]] constexpr std::size_t up_to_line(std::size_t bytes) noexcept { return up_to_multiple(bytes, cache_line); }
[[nodiscard]] constexpr std::size_t up_to_page(std::size_t bytes) noexcept { return up_to_multiple(bytes, page); }

}  // namespace taquin::detail
