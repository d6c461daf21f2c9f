// Sizes and times as people read them, the same everywhere; records are in bytes and seconds.
#pragma once

#include <string>

#include "taquin/types.hpp"

namespace taquin::detail {

/// "64 B", "4 KiB", "1.50 MiB": powers of 1024.
std::string show_size(count_t bytes);

/// "0.25 µs", "1.250 ms", "3.000 s".
std::string show_seconds(double seconds);

}  // namespace taquin::detail
