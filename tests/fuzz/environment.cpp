// Variables: lines of NAME=value, without "TAQUIN_".
#include "base/environment.hpp"

#include <cstdlib>
#include <string>

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr const char* names[] = {"ALGORITHM", "PROFILE", "CHECK", "SHARED_MEMORY", "SINGLE_COPY", "NODES"};
  std::string_view text = taquin::fuzz::text_of(data, size);
  for (const char* name : names) unsetenv((std::string("TAQUIN_") + name).c_str());
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // A value ends at a null byte.
    const std::string name = "TAQUIN_" + std::string(line.substr(0, equals));
    setenv(name.c_str(), std::string(line.substr(equals + 1)).c_str(), 1);
  }
  for (const char* name : names) {
    const std::string full = std::string("TAQUIN_") + name;
    const std::string fault = taquin::detail::environment::fault_of(full);
    taquin::fuzz::require(fault.empty() || fault.starts_with(full));
  }
  return 0;
}
