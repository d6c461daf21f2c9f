// The state of a blocking exchange or a plan.
#pragma once

#include <memory_resource>
#include <new>
#include <optional>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/level_choice.hpp"
#include "base/inline_pool.hpp"
#include "base/memory_budget.hpp"
#include "base/outliving.hpp"
#include "call/call.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "node/detect.hpp"
#include "plan/owned_types.hpp"
#include "select/autotuner.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"
#include "taquin/plan.hpp"

namespace taquin::detail {

/// What mpi::whereabouts tells of such a call.
std::uint64_t facts_of(const exchange& x) noexcept;
/// Figures of types that an exchange's blocks ask for: alltoallw has a type per block.
std::size_t elements_needed(const exchange& x, int ranks);
/// A copy of the exchange whose alltoallw types carry their figures, which are put into `elements`.
exchange with_elements(const exchange& x, int ranks, std::pmr::vector<element>& elements);

/// All that a plan owns: a call, and what its stages have found.
struct plan_state final {
  /// `reused` tells a plan from a blocking call. Local.
  plan_state(const exchange& x, const options& o, bool reused);
  plan_state(const plan_state&) = delete;
  plan_state& operator=(const plan_state&) = delete;
  ~plan_state() { running.forget(); }
  /// Destroys it; true where its own bytes must stay, because the MPI library still sends from its pool.
  static bool destroy(plan_state& p) noexcept {
    bool outlived = false;
    p.pool.tell_at_end(outlived);
    p.~plan_state();
    return outlived;
  }
  static void operator delete(plan_state* p, std::destroying_delete_t) noexcept {
    destroy(*p) ? keep_for_ever(p) : ::operator delete(p);
  }

  /// From meet to prepare. Collective; throws as taquin::plan does, with `lacks_memory` on all ranks.
  void begin(const exchange& x, const options& o, bool lacks_memory);

  call running;         // first: what follows uses its communicator
  mpi::plan_tags tags;  // of a plan that is not a blocking call
  inline_pool pool;
  memory_budget budget;                // before what returns its memory to it
  std::pmr::vector<element> elements;  // alltoallw: the types' figures
  owned_types types;                   // of a plan, whose callers may free theirs
  detail::shape shape;
  const algorithm* chosen = nullptr;       // while the plan tunes itself: of the exchange started last
  std::shared_ptr<const node_view> nodes;  // where the algorithm asks for them
  std::optional<level_names> levels;       // that taquin has chosen
  operation_ptr body;
  const autotuner* tuned = nullptr;  // the body, where the plan tunes itself
  seconds begun = PMPI_Wtime();
  bool by_thread = false;  // the progress thread looks after it

  void start();
  bool test();
  void wait();
  void run();

 private:
  template <class Step>
  auto or_drop(Step step);
  void end();
};

/// True when, once started, the exchange completes without further calls by this rank: by MPI's own progress, through
/// shared memory, or by a thread.
bool completes_alone(const plan& p) noexcept;

}  // namespace taquin::detail
