// The progress of a long run: a line that changes where standard error is a terminal. Elsewhere, as behind mpirun or in
// a job, lines now and then.
#pragma once

#include <chrono>
#include <string>

namespace taquin::harness {

class progress {
 public:
  /// Shows only where `wanted` (one rank). Where standard error is no terminal, the first line comes after so many
  /// seconds, the next ones after twice the time, and at least once a minute.
  explicit progress(bool wanted, double first_line = 5);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  void show(const std::string& what, double part);
  /// Removes the line, before anything else is printed.
  void clear();

 private:
  using clock = std::chrono::steady_clock;
  void show_on_terminal(const std::string& what, int percent);

  bool wanted_;
  bool terminal_;
  bool shown_ = false;
  int last_ = -1;
  clock::time_point start_ = clock::now();
  double next_line_;  // seconds after the start
};

}  // namespace taquin::harness
