// Machine profiles: what is read is written and read again as the same.
#include "select/profile.hpp"

#include <string>

#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace taquin::detail;
  try {
    const std::string text = to_json(from_json(std::string(taquin::fuzz::text_of(data, size))));
    taquin::fuzz::require(to_json(from_json(text)) == text);
  } catch (const profile_error&) {
  }
  return 0;
}
