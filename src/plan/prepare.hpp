// From arguments to a prepared body: validate, agree, choose, prepare.
#pragma once

#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/nodes/level_choice.hpp"
#include "base/inline_pool.hpp"
#include "base/memory_budget.hpp"
#include "exchange/agree.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "mpi/progress.hpp"
#include "node/call_watch.hpp"
#include "node/channel.hpp"
#include "node/detect.hpp"
#include "plan/owned_types.hpp"
#include "schedule/operation.hpp"
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

/// All that a plan owns.
struct plan_state final : private mpi::started {
  /// Validates, agrees, chooses and prepares. Collective; throws as taquin::plan does. `reused` tells a plan from a
  /// blocking call; with `lacks_memory` it throws on all ranks.
  plan_state(const exchange& x, const options& o, bool reused, bool lacks_memory);
  plan_state(const plan_state&) = delete;
  plan_state& operator=(const plan_state&) = delete;
  ~plan_state() override { forget(); }

  mpi::communicator::lease comm_lease;  // null on an intercommunicator
  mpi::plan_tags tags;                  // of a plan that is not a blocking call
  inline_pool pool;
  memory_budget budget;                // first: everything else returns its memory to it
  std::pmr::vector<element> elements;  // alltoallw: the types' figures
  owned_types types;                   // of a plan, whose callers may free theirs
  detail::shape shape;
  const algorithm* chosen = nullptr;       // while the plan tunes itself: of the exchange started last
  std::shared_ptr<const node_view> nodes;  // where the algorithm asks for them
  std::optional<level_names> levels;       // that taquin has chosen
  operation_ptr body;
  const autotuner* tuned = nullptr;  // the body, where the plan tunes itself
  statistics* stats = nullptr;
  mpi::communicator* comm = nullptr;  // null on an intercommunicator
  std::uint64_t facts = 0;            // of the call, as in mpi::whereabouts
  std::uint64_t number = 0;           // of the call that prepares it, or of its last start
  std::string_view running;           // the algorithm, once there is one
  patience timeout;
  seconds begun = PMPI_Wtime();
  bool by_thread = false;  // the progress thread looks after it
  bool under_way = false;

  /// Throws where the last start is not complete.
  void check_idle() const;
  void start();
  bool test();
  void wait();
  void run();

 private:
  agreed agree_with_payload(const exchange& x, const options& o, std::string_view name, bool reused,
                            const proposal& mine, int tag, channel* node);
  agreed agree_between(const exchange& x, const options& o, std::string_view name, const proposal& mine, int tag,
                       agreement_way& way, const algorithm* last, bool may);
  void complete_in_vain() noexcept;
  bool tune(const exchange& x, const options& o);
  void set_aside_for_native(const exchange& x, const options& o, int ranks);
  void choose_without_shared_memory(const exchange& x, const options& o, context& c);
  bool advance() override { return body->test(); }
  void await() override { body->wait(); }
  struct watched;
  void count();
  void end();
};

/// Once it is started its peers need nothing more of this rank: MPI's own progress, memory that is shared, or a thread
/// does the rest.
bool completes_alone(const plan& p) noexcept;

}  // namespace taquin::detail
