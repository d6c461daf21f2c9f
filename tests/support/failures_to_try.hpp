// How many failures a test of the map after a failure tries: the suite tries few.
#pragma once

#include <cstdlib>
#include <string>

namespace taquin::test {

/// TAQUIN_TEST_FAILURES, or `few` without that variable.
inline unsigned failures_to_try(unsigned few) {
  const char* const requested = std::getenv("TAQUIN_TEST_FAILURES");
  return requested == nullptr ? few : static_cast<unsigned>(std::stoul(requested));
}

}  // namespace taquin::test
