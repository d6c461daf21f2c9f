// A line on the terminal with the progress of a long run; nothing if standard error is no terminal.
#pragma once

#include <string>

namespace taquin::harness {

class progress {
 public:
  /// Shows only where `wanted` (one rank) and standard error is a terminal.
  explicit progress(bool wanted);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  void show(const std::string& what, double part);
  /// Removes the line, before anything else is printed.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  int last_ = -1;
};

}  // namespace taquin::harness
