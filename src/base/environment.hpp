// Settings from the environment, read once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/options.hpp"

namespace taquin::detail {

struct environment {
  std::string algorithm;  ///< TAQUIN_ALGORITHM: stands in for "auto"; empty when not set
  bool check = false;     ///< TAQUIN_CHECK=1: as options::check, for every exchange
  /// TAQUIN_NODES=1,4,2,8 or 4x16: ranks per node of MPI_COMM_WORLD; empty when not set.
  std::vector<int> nodes;
  /// TAQUIN_NODES=4,4/2,2,1,3: ranks per group inside nodes, and so on, from the outermost level inwards.
  std::vector<std::vector<int>> groups;
  static constexpr std::size_t most_groups = 2;  ///< lists after the first
  bool shared_memory = true;  ///< TAQUIN_SHARED_MEMORY=0: ranks of a node send messages to each other
  bool single_copy = true;    ///< TAQUIN_SINGLE_COPY=0: no rank reads another's memory through the kernel
  bool progress_thread =
      false;          ///< TAQUIN_PROGRESS_THREAD=1: a thread progresses started plans, where there can be one
  float timeout = 0;  ///< TAQUIN_TIMEOUT=5 or 5,abort or 5,fail: seconds, and the reaction; 0: never
  after_timeout on_timeout = after_timeout::wait;
  std::string profile;           ///< TAQUIN_PROFILE: the file of a machine profile; empty when not set
  std::string invalid_argument;  ///< the error in a setting; empty when there is none

  static const environment& get();

  /// The error in the value of this variable; empty when there is none. Reads it again.
  static std::string invalid_text_of(std::string_view name);
};

/// Ranks per node, as TAQUIN_NODES has them: 1,4,2,8 or 4x16, and after slashes those of groups inside nodes. False
/// where the text is anything else.
bool parse_nodes(std::string_view text, std::vector<int>& nodes, std::vector<std::vector<int>>& groups);

}  // namespace taquin::detail
