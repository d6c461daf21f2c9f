// Errors that end a program of this project, and its exit statuses.
#pragma once

#include <stdexcept>

namespace taquin::harness {

/// Wrong arguments, found identically on every rank: printed once, exit status 2.
class usage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Work that failed identically on every rank: printed once, exit status 1.
class failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr int failure_status = 1;
inline constexpr int usage_status = 2;

}  // namespace taquin::harness
