// Predictions for redistributions, without MPI ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taquin/cost_model.hpp"
#include "taquin/types.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

/// --blocks and --free of commands that predict redistributions among other operations.
struct redistribution_flags {
  count_t blocks = 64;
  count_t free = 0;
  std::array<const CLI::Option*, 2> options{};

  void add_to(CLI::App& app);
  /// Throws usage where one of them is given.
  void refuse() const;
};

struct redistribution_offline {
  std::vector<std::string> algorithms{"all"};
  std::string workload = "shift";
  count_t bytes = 0;  ///< of a rank's array
  count_t blocks = 64;
  count_t free = 0;  ///< free ones among them
  std::size_t memory = unlimited;
  std::uint64_t seed = 1;
};

/// `--collective redistribution`, or the name of such an algorithm.
bool asks_for_redistribution(const std::vector<std::string>& algorithms, const std::string& collective);

struct redistribution_candidate {
  std::string_view algorithm;
  std::size_t memory = 0;  ///< with its buffers; the least that it needs where it does not fit
  bool fits = true;
  bool chosen = false;  ///< by auto
  seconds formula = 0;
  std::optional<seconds> run;  ///< of a run of all ranks; none: there are too many blocks
};

/// The algorithms that are named, in the order of the list. Throws usage.
std::vector<redistribution_candidate> predict_redistribution(const redistribution_offline& a, int ranks,
                                                             const detail::topology& nodes, const machine_model& m);

}  // namespace taquin::cli
