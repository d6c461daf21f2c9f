// taquin redistribute --from LAYOUT --to LAYOUT: an array from one layout to another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/sizes.hpp"

namespace taquin::cli {

struct layout_arguments {
  std::string shape = "4096x4096";
  std::string from;
  std::string to;
  std::vector<int> axes;
  std::string element = "8";
  std::string memory = "unlimited";
  int repetitions = 0;
  std::string json;
};

/// Runs it in a session of its own; the exit status.
int redistribute_layouts(const layout_arguments& a);

}  // namespace taquin::cli
