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

/// The entry of such a call in `mpi::progress_record`.
std::uint64_t call_word_of(const exchange& x) noexcept;
/// Figures of the types of an exchange's blocks: alltoallw has a type per block.
std::size_t elements_needed(const exchange& x, int ranks);
/// The same of a valid alltoallw.
constexpr std::size_t elements_of_types(bool one_side, int ranks) noexcept {
  return (one_side ? 1U : 2U) * static_cast<std::size_t>(ranks);
}
/// A copy of the exchange whose alltoallw types have their figures, which are put into `elements`.
exchange with_elements(const exchange& x, int ranks, std::pmr::vector<element>& elements);

/// All that a plan owns: a call, and the results of its stages.
struct plan_state final {
  /// `reused` distinguishes a plan from a blocking call. Local.
  plan_state(const exchange& x, const options& o, bool reused);
  plan_state(const plan_state&) = delete;
  plan_state& operator=(const plan_state&) = delete;
  ~plan_state() { running.forget(); }
  /// Destroys it; true if its own bytes must stay, because the MPI library still sends from its pool.
  static bool destroy(plan_state& p) noexcept {
    bool outlived = false;
    p.pool.report_at_end(outlived);
    p.~plan_state();
    return outlived;
  }
  static void operator delete(plan_state* p, std::destroying_delete_t) noexcept {
    destroy(*p) ? keep_for_ever(p) : ::operator delete(p);
  }

  /// From set-up to prepare. Collective; throws as taquin::plan does, with `lacks_memory` on all ranks.
  void begin(const exchange& x, const options& o, bool lacks_memory);

  call running;         // first: the members that follow use its communicator
  mpi::plan_tags tags;  // of a plan that is not a blocking call
  inline_pool pool;
  memory_budget budget;                // before the members that return their memory to it
  std::pmr::vector<element> elements;  // alltoallw: the types' figures
  owned_types types;                   // of a plan, whose callers may free theirs
  detail::shape shape;
  const algorithm* chosen = nullptr;       // while the plan tunes itself: of the exchange started last
  std::shared_ptr<const node_view> nodes;  // if the algorithm uses them
  std::optional<level_names> levels;       // that taquin has chosen
  operation_ptr prepared;
  const autotuner* tuned = nullptr;  // the operation, if the plan tunes itself
  seconds started_at = PMPI_Wtime();
  bool by_thread = false;  // the progress thread progresses it
  bool fits_step = false;  // a blocking call, whose step may lack blocks because a rank has not read the profile
  bool again = false;      // in its step, after the profile was read and refused: nothing is prepared

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
