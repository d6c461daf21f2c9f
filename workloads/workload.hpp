// Bytes from each rank to each: the patterns that tests, benchmarks and the command line share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::workloads {

/// A workload that does not exist or whose parameter is wrong; the text lists the known ones.
class bad_workload : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The size of the problem. Figures depend on these alone: all ranks that agree on them agree on every block.
struct problem_size {
  int ranks = 1;
  count_t bytes = 0;  ///< per rank
  std::uint64_t seed = 1;
};

/// One generator. Exactly one of `block` and `row` is set.
struct generator {
  std::string_view name;
  std::string_view parameter;  ///< its name in help texts; empty: it takes none; in brackets: it has a default
  std::string_view summary;
  double fallback = 0;  ///< the parameter when none is given
  double least = 0;     ///< the parameter's smallest value
  bool whole = true;    ///< the parameter is a whole number
  /// Bytes from one rank to another, where they have a closed form.
  count_t (*block)(const problem_size&, double parameter, int from, int to) = nullptr;
  /// Bytes from one rank to all, into `row`, which holds zeros.
  void (*row)(const problem_size&, double parameter, int from, std::span<count_t> row) = nullptr;
};

/// All generators.
std::span<const generator> generators() noexcept;

/// A generator with its parameter.
class workload {
 public:
  /// "NAME" or "NAME:PARAMETER". Throws bad_workload.
  static workload parse(std::string_view text);

  /// As it was given.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Bytes that rank `from` sends to each rank. O(p log p).
  [[nodiscard]] std::vector<count_t> row(const problem_size& size, int from) const;
  /// Bytes that rank `to` receives from each rank. O(p) where blocks have a closed form, else all rows are made.
  [[nodiscard]] std::vector<count_t> column(const problem_size& size, int to) const;

 private:
  workload(const generator* of, double parameter, std::string name)
      : generator_(of), parameter_(parameter), name_(std::move(name)) {}
  const generator* generator_;
  double parameter_;
  std::string name_;
};

}  // namespace taquin::workloads
