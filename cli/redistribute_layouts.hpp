// taquin redistribute --from LAYOUT --to LAYOUT: an array from one layout to another.
#pragma once

#include <string>

#include "cli/layout_flags.hpp"

namespace taquin::cli {

struct layout_arguments {
  layout_flags flags;
  bool relabel = false;  ///< the target's positions on the ranks that move the fewest bytes
  std::string memory = "unlimited";
  int repetitions = 0;
  std::string json;
};

/// Runs it in a session of its own; the exit status.
int redistribute_layouts(const layout_arguments& a);

}  // namespace taquin::cli
