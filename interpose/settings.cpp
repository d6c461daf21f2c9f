#include "interpose/settings.hpp"

#include <charconv>
#include <cstdlib>

namespace taquin::interpose {

namespace {

// Recording alone leaves the program's calls as they are, so that the times are the MPI library's.
settings read() {
  settings s;
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text != nullptr ? text : "");
  };
  s.record = variable("TAQUIN_RECORD");
  const std::string_view memory = variable("TAQUIN_MEMORY");
  s.route = s.record.empty() || !variable("TAQUIN_ALGORITHM").empty() || !memory.empty();
  if (memory.empty()) return s;
  if (const auto bytes = size_of(memory)) {
    s.memory = *bytes;
  } else {
    s.warning = "TAQUIN_MEMORY='" + std::string(memory) + "' is ignored: not a size such as 64, 4K, 50M, 2G";
  }
  return s;
}

}  // namespace

std::optional<std::size_t> size_of(std::string_view text) {
  std::size_t bytes = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, bytes);
  if (failed != std::errc{} || end - stop > 1) return std::nullopt;
  if (stop == end) return bytes;
  const auto unit = std::string_view("KMGT").find(static_cast<char>(*stop & ~0x20));
  if (unit == std::string_view::npos) return std::nullopt;
  const auto shift = 10 * (unit + 1);
  if (bytes > unlimited >> shift) return std::nullopt;
  return bytes << shift;
}

const settings& settings::get() {
  static const settings s = read();
  return s;
}

}  // namespace taquin::interpose
