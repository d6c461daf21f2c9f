// Where records and tables go: --json FILE or "-", tables on standard output or, beside JSON there, on standard error.
#pragma once

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace taquin::harness {

class output {
 public:
  /// `json`: a path, "-", or empty for no JSON. Collective over the world: throws failure on every rank when rank 0,
  /// which alone writes, cannot open the file.
  output(const std::string& json, int rank);

  /// For tables and remarks; null on ranks that print nothing.
  [[nodiscard]] std::FILE* text() const noexcept { return text_; }
  void add(std::vector<nlohmann::json> records);
  /// Writes the array. Collective over the world; throws failure on every rank when it cannot be written.
  void finish();

 private:
  std::string path_;
  int rank_;
  std::FILE* text_;
  std::ofstream file_;
  nlohmann::json records_ = nlohmann::json::array();
};

}  // namespace taquin::harness
