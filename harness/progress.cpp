#include "harness/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace taquin::harness {

progress::progress(bool wanted, double first_line)
    : wanted_(wanted), terminal_(isatty(STDERR_FILENO) == 1), next_line_(first_line) {}

void progress::show(const std::string& what, double part) {
  if (!wanted_) return;
  const int percent = static_cast<int>(part * 100);
  if (terminal_) return show_on_terminal(what, percent);
  const double elapsed = std::chrono::duration<double>(clock::now() - start_).count();
  if (elapsed < next_line_) return;
  constexpr double minute = 60;
  next_line_ = elapsed + std::min(elapsed, minute);
  fmt::print(stderr, "taquin: {} {}%, after {:.0f} s\n", what, percent, elapsed);
  std::fflush(stderr);
}

void progress::show_on_terminal(const std::string& what, int percent) {
  if (percent == last_) return;
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
