// Flags for the nodes of ranks that do not run: which ranks share a node, and how many cores it has.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exchange/shape.hpp"
#include "select/selection.hpp"
#include "taquin/types.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

struct node_flags {
  std::string nodes;  ///< 1,4,2,8 or 4x16; empty: TAQUIN_NODES, or `per_node`
  int per_node = 0;   ///< ranks of a node; 0: not given
  int cores = 0;      ///< of a node; 0: not given

  /// Ranks per node are listed, here or in TAQUIN_NODES.
  [[nodiscard]] bool listed() const;
  /// As many as are listed; 0: none are.
  [[nodiscard]] int ranks() const;
  /// The nodes of `ranks` ranks; none where nothing is given. Throws usage where they are listed for other numbers.
  [[nodiscard]] std::optional<detail::topology> of(int ranks) const;
  /// Ranks per node of a sparse exchange, whose nodes are equal except for the last; 0: not given. Throws usage.
  [[nodiscard]] int identical(int ranks) const;
};

/// Adds --nodes, --per-node and, where its default is given, --cores.
void add_node_flags(CLI::App& app, node_flags& into, const std::string& otherwise, const std::string& cores = {});

/// "one node", "4 nodes of 16 ranks" or "4 nodes of 1, 4, 2 and 8 ranks".
std::string words_of(const detail::topology& nodes);
/// The same with ", 2 cores", of several nodes ", 2 cores each"; 0: ", a core for each rank".
std::string words_of(const detail::topology& nodes, int cores);

/// The profile of --model; without one the built-in model. Throws usage.
detail::profile profile_of_model(const std::string& file);

}  // namespace taquin::cli
