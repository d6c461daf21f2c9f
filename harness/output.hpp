// Where records and tables go: --json FILE or "-", --csv FILE or "-", tables on standard output or, beside JSON
// there, on standard error.
#pragma once

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace taquin::harness {

class output {
 public:
  /// `json` and `csv`: a path, "-", or empty for none. Collective over the world: throws failure on every rank when
  /// rank 0, which alone writes, cannot open a file.
  output(const std::string& json, int rank, const std::string& csv = {});

  /// For tables and remarks; null on ranks that print nothing.
  [[nodiscard]] std::FILE* text() const noexcept { return text_; }
  void add(std::vector<nlohmann::json> records);
  [[nodiscard]] const std::vector<nlohmann::json>& records() const noexcept { return records_; }
  /// Writes them. Collective over the world; throws failure on every rank when it cannot be written.
  void finish();

 private:
  struct target {
    std::string path;
    std::ofstream file{};
  };
  void open(target& t);
  void write(target& t, const std::string& text);

  target json_;
  target csv_;
  int rank_;
  std::FILE* text_;
  std::vector<nlohmann::json> records_;
};

}  // namespace taquin::harness
