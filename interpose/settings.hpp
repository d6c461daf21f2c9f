// What the environment asks of the preloaded library. Read once. docs/internals/interpose.md lists the variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/types.hpp"

namespace taquin::interpose {

struct settings {
  bool route = true;                  ///< calls go through taquin
  std::size_t memory = unlimited;     ///< TAQUIN_MEMORY
  std::string record;                 ///< TAQUIN_RECORD: the traffic file; empty: nothing is recorded
  std::vector<std::string> warnings;  ///< what is wrong with variables that are ignored

  static const settings& get();
};

/// Bytes: a whole number with an optional K, M, G or T for powers of 1024. Nothing when the text is not that.
std::optional<std::size_t> size_of(std::string_view text);

}  // namespace taquin::interpose
