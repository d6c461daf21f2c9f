// Variables: lines of NAME=value, without "TAQUIN_".
#include "base/environment.hpp"

#include <unistd.h>

#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr const char* names[] = {"ALGORITHM", "PROFILE", "CHECK", "SHARED_MEMORY", "SINGLE_COPY", "NODES"};
  std::string_view text = taquin::fuzz::text_of(data, size);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    lines.push_back("TAQUIN_" + std::string(line.substr(0, line.find('\0'))));
  }
  // Not setenv(), which never gives back a value.
  std::vector<char*> variables;
  for (auto& line : lines) variables.push_back(line.data());
  variables.push_back(nullptr);
  char** const before = environ;
  environ = variables.data();
  for (const char* name : names) {
    const std::string full = std::string("TAQUIN_") + name;
    const std::string invalid = taquin::detail::environment::invalid_text_of(full);
    taquin::fuzz::require(invalid.empty() || invalid.starts_with(full));
  }
  environ = before;
  return 0;
}
