// `list`, `plan` and `simulate` of permutations and of the collectives that are built from them. Without MPI ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/collectives.hpp"
#include "schedule/permutations.hpp"
#include "taquin/cost_model.hpp"
#include "topology/topology.hpp"

namespace taquin::cli {

/// A permutation by k, or a collective with root 0.
struct pattern {
  std::string_view name;
  std::optional<patterns::permutation> permutation{};
  int by = 1;
  detail::collective collective = detail::collective::barrier;

  /// The work of one rank with `bytes` bytes of its own.
  [[nodiscard]] detail::schedule build(int rank, int ranks, count_t bytes) const;
  /// Of Hockney's model, without nodes.
  [[nodiscard]] seconds closed_form(int ranks, count_t bytes, const hockney& h) const;
};

/// A row of `taquin list --patterns`.
struct pattern_row {
  std::string_view name;
  std::string_view summary;
  std::string_view steps;
  std::string_view time;  ///< in Hockney's model, of m bytes on each rank
  std::string_view source;
};
std::vector<pattern_row> pattern_rows();

/// Those that are named: all, shift, ring or hypercube, also as ring:2, or a collective. Throws usage.
std::vector<pattern> parse_patterns(const std::vector<std::string>& names);

/// Prints the moves of one rank of `ranks`.
int plan_pattern(const std::string& name, int ranks, int rank, count_t bytes);

/// The time of all ranks' schedules, message by message.
seconds time_of(const pattern& p, int ranks, count_t bytes, const detail::topology& nodes, const machine_model& m);

}  // namespace taquin::cli
