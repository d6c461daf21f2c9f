#include "base/shown.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace taquin::detail {

std::string show_size(count_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr double step = 1024;
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  if (value == std::floor(value)) return fmt::format("{:.0f} {}", value, units[unit]);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : 1, units[unit]);
}

std::string show_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

}  // namespace taquin::detail
