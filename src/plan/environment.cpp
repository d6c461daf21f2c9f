#include "plan/environment.hpp"

#include <cstdlib>
#include <string_view>

namespace taquin::detail {

namespace {

environment read() {
  environment e;
  if (const char* text = std::getenv("TAQUIN_ALGORITHM")) e.algorithm = text;
  if (const char* text = std::getenv("TAQUIN_CHECK")) {
    const std::string_view value = text;
    e.check = value == "1";
    if (value != "1" && value != "0" && !value.empty())
      e.defect = "TAQUIN_CHECK must be 0 or 1, not '" + std::string(value) + "'";
  }
  return e;
}

}  // namespace

const environment& environment::get() {
  static const environment e = read();
  return e;
}

}  // namespace taquin::detail
