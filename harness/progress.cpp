#include "harness/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace taquin::harness {

progress::progress(bool wanted) : terminal_(wanted && isatty(STDERR_FILENO) == 1) {}

void progress::show(const std::string& what, double part) {
  const int percent = static_cast<int>(part * 100);
  if (!terminal_ || percent == last_) return;
  last_ = percent;
  shown_ = true;
  fmt::print(stderr, "\r\033[K{} {:3}%", what, percent);
  std::fflush(stderr);
}

void progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
  last_ = -1;
}

}  // namespace taquin::harness
