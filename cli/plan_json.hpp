// `taquin plan --json`: the moves of all ranks, for the report page. docs/internals/file-formats.md has the format.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "algorithms/algorithm.hpp"
#include "redistribute/machine.hpp"
#include "simulation/whole.hpp"
#include "taquin/options.hpp"
#include "topology/topology.hpp"
#include "workloads/workload.hpp"

namespace taquin::cli {

/// The exchange to be planned, for any algorithm.
struct planned {
  std::string workload;
  workloads::workload what;
  workloads::problem_size size;
  exchange::form kind;
  options opts;
  std::optional<detail::topology> nodes;  ///< none: each rank alone, or all on one node where only that is served
};

/// The nodes of a plan: "nodes", the ranks of each, and "per_node", 0 where they differ.
void write_nodes(nlohmann::json& plan, const detail::topology& nodes);

/// Rounds as the file has them; `traced`: with the blocks in messages.
nlohmann::json json_of(const detail::whole_moves& moves, bool traced);

/// Round by round: messages, copies, the content of scratch. Throws usage if there are too many messages.
nlohmann::json plan_of_moves(const detail::algorithm& a, const planned& p);

/// in_place and in_place_phases: the buffers of all ranks, and how blocks leave, arrive and move, from a run of all
/// ranks in one process. `memory`: auxiliary bytes of each rank.
nlohmann::json plan_in_place(const planned& p, count_t memory, bool phases);

/// A redistribution of `blocks` blocks on each rank, `live` of them in use: free places, blocks held aside, blocks in
/// place and bytes copied, over time.
nlohmann::json plan_redistribution(const detail::redistribution_algorithm& a, const std::string& workload, int ranks,
                                   count_t blocks, count_t live, count_t block_bytes, std::uint64_t seed);

}  // namespace taquin::cli
