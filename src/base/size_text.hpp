// Sizes as people write them: the one place that reads them.
#pragma once

#include <charconv>
#include <cstddef>
#include <limits>
#include <string_view>

#include "base/sizes.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// The size that a text states.
struct size_text {
  count_t bytes = 0;
  const char* invalid_text = nullptr;  ///< the error in the text; null: none
};

/// A whole number of bytes, with K, M, G or T for powers of 1024 ("KiB" and "KB" are taken as K).
inline size_text read_size(std::string_view text) noexcept {
  size_text size;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, size.bytes);
  if (error == std::errc::result_out_of_range) return {0, "too large"};
  if (error != std::errc{}) return {0, "not a number"};
  if (size.bytes < 0) return {0, "negative"};
  std::string_view unit(stop, as_size(end - stop));
  unsigned shift = 0;
  if (!unit.empty()) {
    const auto prefix = std::string_view("KMGT").find(static_cast<char>(unit.front() & ~0x20));
    if (prefix != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(prefix) + 1);
      unit.remove_prefix(1);
      if (unit.starts_with('i')) unit.remove_prefix(1);
    }
    if (!unit.empty() && unit != "B") return {0, "unknown unit"};
  }
  if (size.bytes > (std::numeric_limits<count_t>::max() >> shift)) return {0, "too large"};
  size.bytes <<= shift;
  return size;
}

}  // namespace taquin::detail
