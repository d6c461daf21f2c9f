// An array and two layouts of it, as commands take them: --from, --to, --shape, --element, --axes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "taquin/layout.hpp"

namespace taquin::cli {

/// How a layout is written, for the help.
std::string layout_help();

struct layout_flags {
  std::string shape = "4096x4096";
  std::string from;
  std::string to;
  std::vector<int> axes;
  std::string element = "8";

  /// The option for `from`.
  CLI::Option* add_to(CLI::App& app);
  /// One of the layouts is given.
  [[nodiscard]] bool given() const { return !from.empty() || !to.empty(); }
};

/// An array's move, as the flags describe it. Throws usage.
struct layout_move {
  explicit layout_move(const layout_flags& flags);
  /// Throws usage for layouts that are invalid on so many ranks.
  void check(int ranks) const;
  /// Bytes of the array that change ranks if the target is `there`.
  [[nodiscard]] count_t bytes_moved(const layout& there) const;

  layout from;
  layout to;
  layout_options options;
  std::size_t element = 0;  ///< bytes
};

}  // namespace taquin::cli
