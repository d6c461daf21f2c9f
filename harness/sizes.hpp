// Sizes as people write them: 64, 4K, 50M, 4K..4M, 10%.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/shown.hpp"
#include "taquin/types.hpp"

namespace taquin::harness {

/// Bytes: a whole number, with K, M, G or T for powers of 1024 ("KiB" and "KB" are taken as K). Throws usage.
count_t parse_size(std::string_view text);
/// One size, or with ".." the first and its doubles up to the last. Throws usage.
std::vector<count_t> parse_sizes(std::string_view text);

/// A limit on memory: none, bytes, or a part of what a rank sends.
struct memory_choice {
  bool limited = false;
  bool relative = false;
  double percent = 0;
  count_t bytes = 0;

  /// "SIZE", "PERCENT%" or "unlimited". Throws usage.
  static memory_choice parse(std::string_view text);
  /// As options::memory, for ranks that send at most `bytes_per_rank`.
  [[nodiscard]] std::size_t limit(count_t bytes_per_rank) const;
};

using detail::show_seconds;
using detail::show_size;

}  // namespace taquin::harness
