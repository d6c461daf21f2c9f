// The innermost loops of packing: n runs of some bytes between a strided and a contiguous place.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/copy_bytes.hpp"
#include "base/sizes.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// Copies n runs of `length` bytes each; run i is from + i·from_stride, and goes to to + i·to_stride. Short runs of a
/// fixed length are single loads and stores.
inline void strided_copy(const std::byte* from, count_t from_stride, std::byte* to, count_t to_stride, count_t length,
                         count_t n) {
  const auto copy_all = [&](auto size) {
    for (count_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size());
  };
  switch (length) {
    case 1:
      return copy_all([] { return std::size_t{1}; });
    case 2:
      return copy_all([] { return std::size_t{2}; });
    case 4:
      return copy_all([] { return std::size_t{4}; });
    case 8:
      return copy_all([] { return std::size_t{8}; });
    case 12:
      return copy_all([] { return std::size_t{12}; });
    case 16:
      return copy_all([] { return std::size_t{16}; });
    case 24:
      return copy_all([] { return std::size_t{24}; });
    case 32:
      return copy_all([] { return std::size_t{32}; });
    case 64:
      return copy_all([] { return std::size_t{64}; });
    default:
      for (count_t i = 0; i < n; ++i) copy_bytes(to + i * to_stride, from + i * from_stride, as_size(length));
  }
}

}  // namespace taquin::detail
