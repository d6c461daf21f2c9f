// From arguments to a prepared body: validate, agree, choose, prepare.
#pragma once

#include <memory_resource>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/plan_body.hpp"
#include "exchange/agree.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "plan/inline_pool.hpp"
#include "plan/kept_types.hpp"
#include "plan/tuned_body.hpp"
#include "taquin/exchange.hpp"
#include "taquin/memory_budget.hpp"
#include "taquin/options.hpp"
#include "topology/detect.hpp"

namespace taquin::detail {

/// All that a plan owns.
struct plan_state {
  /// Validates, agrees, chooses and prepares. Collective; throws as taquin::plan does. `reused` tells a plan from a
  /// blocking call.
  plan_state(const exchange& x, const options& o, bool reused);

  mpi::communicator::lease comm_lease;  // null on an intercommunicator
  inline_pool pool;
  memory_budget budget;                // first: everything else returns its memory to it
  std::pmr::vector<element> elements;  // alltoallw: the types' figures
  kept_types types;                    // of a plan, whose callers may free theirs
  detail::shape shape;
  const algorithm* chosen = nullptr;       // while the plan tunes itself: of the exchange started last
  std::shared_ptr<const node_view> nodes;  // where the algorithm asks for them
  body_ptr body;
  const tuned_body* tuned = nullptr;  // the body, where the plan tunes itself
  statistics* stats = nullptr;
  bool started = false;

  void start();
  bool test();
  void wait();
  void run();

 private:
  agreed agree_riding(const exchange& x, const options& o, std::string_view name, bool reused, const proposal& mine,
                      mpi::communicator& comm, int tag);
  bool tune(const exchange& x, const options& o, mpi::communicator& comm, int tag);
  void finish();
};

}  // namespace taquin::detail
