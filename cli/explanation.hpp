// The answer of `taquin explain`: the algorithm that `auto` takes for an exchange, and the cost of each.
#pragma once

#include <string>
#include <vector>

#include "harness/problem.hpp"
#include "select/selection.hpp"
#include "topology/topology.hpp"
#include "workloads/traffic.hpp"
#include "workloads/workload.hpp"

namespace taquin::cli {

/// On which nodes an exchange is.
struct placement {
  detail::topology nodes{};
  bool here = false;           ///< the ranks that run, as they run
  bool shared = false;         ///< all ranks share memory
  bool single_copies = false;  ///< and can read each other's
  std::size_t step_bytes = 0;  ///< the longest block that a step between nodes carries; 0: there is none
  std::size_t step_share = 0;  ///< its memory, of the rank with the most
  int cores = 1;               ///< of a node

  /// Of MPI_COMM_WORLD. Collective over it.
  static placement of_world();
  /// Of ranks that do not run, where memory can be shared.
  static placement of(detail::topology nodes);

  [[nodiscard]] std::string words() const;
};

/// An exchange of a workload.
struct question {
  const workloads::workload& workload;
  workloads::problem_size size;
  exchange::form kind = exchange::form::alltoallv;
  harness::buffering how = harness::buffering::separate;
  bool persistent = false;
};

struct explanation {
  detail::shape shape{};
  std::size_t limit = unlimited;
  std::size_t left = unlimited;  ///< of that, beside what is known of the types
  detail::decision taken{};
  bool profile_given = false;
  bool by_rule = false;  ///< of the profile
  std::vector<detail::candidate> all{};

  /// Null where nothing serves within the limit.
  [[nodiscard]] const detail::algorithm* chosen() const;
};

/// `memory` as `-m` takes it. Local.
explanation explain(const question& q, const std::string& memory, const placement& on, const detail::profile& p);

/// A recorded call, as if all its ranks were on one node. Local.
explanation explain(const workloads::traffic& t, const workloads::recorded_call& call, bool persistent,
                    std::size_t limit, const placement& on, const detail::profile& p);

}  // namespace taquin::cli
