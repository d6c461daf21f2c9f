// Where records and tables go: --json FILE or "-", --csv FILE or "-", tables on standard output or, beside JSON
// there, on standard error.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace taquin::harness {

/// Throws failure on every rank when rank 0 cannot write to the file. Writes nothing: before a measurement, not after.
/// Collective over the world.
void check_writable(const std::string& path, int rank);

class output {
 public:
  /// `json` and `csv`: a path, "-", or empty for none. Collective over the world: throws failure on every rank when
  /// rank 0, which alone writes, cannot write there. Nothing is written yet.
  output(const std::string& json, int rank, const std::string& csv = {});

  /// For tables and remarks; null on ranks that print nothing.
  [[nodiscard]] std::FILE* text() const noexcept { return text_; }
  /// Also writes the records so far to the files, so that an interrupted run keeps what it has finished. Collective
  /// over the world; throws failure on every rank when a file cannot be written.
  void add(std::vector<nlohmann::json> records);
  /// Whether records go to a file. The same on all ranks.
  [[nodiscard]] bool to_file() const noexcept;
  /// Writes these, marked as `partial`, behind the records so far, until the next call of `add`. Collective over the
  /// world; throws failure on every rank when a file cannot be written.
  void add_partial(std::vector<nlohmann::json> records) const;
  [[nodiscard]] const std::vector<nlohmann::json>& records() const noexcept { return records_; }
  /// Writes them to standard output, and reports the files. Collective over the world; throws failure on every rank
  /// when it cannot be written.
  void finish();

 private:
  void write(const std::string& path, const std::string& text) const;
  void write_files(const std::vector<nlohmann::json>& records) const;

  std::string json_;  // a path, "-", or empty
  std::string csv_;
  int rank_;
  std::FILE* text_;
  std::vector<nlohmann::json> records_;
};

}  // namespace taquin::harness
