// Runs the built taquin program and gives back what it said.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

namespace taquin::cli {

struct result {
  int status = -1;
  std::string out;
  std::string err;
  /// Standard output as JSON; throws when it is not one JSON value and nothing else.
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
  [[nodiscard]] bool said(const std::string& text) const { return err.find(text) != std::string::npos; }
};

/// `taquin ARGUMENTS`, on that many ranks under mpirun; 0: without mpirun.
result taquin(int ranks, const std::string& arguments);

/// Starts `taquin ARGUMENTS`, with "{}" for a file that exists, on that many ranks under mpirun (0: without), and
/// interrupts it once the file was replaced and holds what `enough` accepts. Expects JSON whenever it reads the file.
/// Gives back what the file holds in the end.
nlohmann::json interrupted(int ranks, const std::string& arguments,
                           const std::function<bool(const nlohmann::json&)>& enough);

/// How often `part` occurs in `text`.
int occurrences(const std::string& text, const std::string& part);

/// A path for a file of this process's own, in the directory for temporary files.
std::string temporary_path(const std::string& name);

/// Expects that `taquin COMMAND ARGUMENTS` prints each case's message once and nothing else, and ends with status 2.
void expect_refused(const std::string& command, std::span<const std::pair<const char*, const char*>> cases);

}  // namespace taquin::cli
