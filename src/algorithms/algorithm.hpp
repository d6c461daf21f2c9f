// The definition of an algorithm, and the one list of them. To add one: a file in this folder that defines `const
// algorithm taquin::detail::NAME`, and one line in algorithms.def.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/in_flight.hpp"
#include "base/memory_budget.hpp"
#include "call/operation.hpp"
#include "exchange/shape.hpp"
#include "mpi/communicator.hpp"
#include "schedule/executor.hpp"
#include "schedule/schedule.hpp"
#include "taquin/cost_model.hpp"
#include "taquin/error.hpp"
#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

struct node_view;

/// The arguments of `prepare` besides the exchange.
struct context {
  mpi::communicator* comm = nullptr;  ///< null on an intercommunicator
  int tag = 0;                        ///< the first of the plan's own tags
  const detail::shape* shape = nullptr;
  const options* opts = nullptr;
  const node_view* nodes = nullptr;  ///< for algorithms that use them
  bool reused = false;               ///< a plan that may be started again, rather than one blocking call
  std::size_t memory = unlimited;    ///< the memory limit of the body, the same on all ranks
};

/// For an algorithm whose small blocks the step of a blocking call carries (piggybacked_exchange.hpp).
struct carrying {
  /// Predicted time of a call beside its agreement; null for all other algorithms.
  seconds (*cost)(const shape&, const options&, const machine_model&) noexcept = nullptr;
};

/// Ranks of one group, with separate buffers.
constexpr bool separate_buffers(const shape& s) noexcept { return !s.inter && !s.in_place; }

struct algorithm {
  std::string_view name;
  std::string_view summary;    ///< one line, for the table
  std::string_view source;     ///< paper and section
  std::string_view rounds;     ///< communication rounds, as a formula in p
  bool serves_inside = false;  ///< can be the inner algorithm of another: separate buffers, without nodes of its own
  /// True when the algorithm can serve such an exchange.
  bool (*supports)(const shape&) noexcept = separate_buffers;
  /// The communicator's nodes are detected before `memory`, `build` and `prepare` are called.
  bool needs_nodes = false;
  /// Peak scratch bytes on any rank: with this limit `prepare` succeeds on every rank.
  std::size_t (*memory)(const shape&, const options&) = nullptr;
  /// Scratch bytes that it uses without a limit. Null: as `memory`.
  std::size_t (*usual_memory)(const shape&, const options&) = nullptr;
  /// Predicted time of one exchange on the slowest rank, as a closed formula; agreement and preparation are not in it.
  seconds (*cost)(const shape&, const options&, const machine_model&) noexcept = nullptr;
  /// Predicted time of preparing one exchange: of a blocking call, or of one start of a plan (`reused`). Null: a
  /// blocking call writes as many bytes as `memory` states, a start of a plan none.
  seconds (*preparation)(const shape&, const options&, const machine_model&, bool reused) noexcept = nullptr;
  /// Null: none. Other options with which plans that measure try it as well; empty if there are none.
  std::optional<options> (*variant)(const shape&, const options&) = nullptr;
  /// Null: no. Whether a plan that has this limit is completed by the MPI library alone once all ranks have started it,
  /// whatever their programs do next.
  bool (*ends_by_itself)(const shape&, const options&, std::size_t limit) noexcept = nullptr;
  /// Null unless the moves are known in advance: the schedule of one rank. Pure, without MPI.
  schedule (*build)(const local_exchange&, const shape&, const options&, std::pmr::memory_resource*) = nullptr;
  /// Null if `build` is given: the executor then runs its schedule. An empty result, on all ranks: the ranks cannot
  /// have the shared memory that the algorithm needs.
  operation_ptr (*prepare)(const exchange&, const context&, memory_budget&) = nullptr;
  carrying piggybacked{};
};

#define TAQUIN_ALGORITHM(name) extern const algorithm name;
#include "algorithms/algorithms.def"
#undef TAQUIN_ALGORITHM

/// The most messages that a rank has sent and its peers have not received, and the most unexpected ones at a rank. With
/// many an MPI library searches long queues for each arrival; with few the network idles between messages. With Open
/// MPI and MPICH times do not change from 16 to 64; MPICH's own throttle is 32.
constexpr int in_flight_of(const options& o) noexcept { return in_flight_bound(o.in_flight); }

/// Where and how a schedule runs that all ranks of the context's communicator run.
inline execution execution_of(const exchange& x, const context& c) noexcept {
  return {.comm = c.comm->get(),
          .tag = c.tag,
          .send = x.send.base,
          .recv = x.recv.base,
          .reused = c.reused,
          .in_flight = in_flight_of(*c.opts),
          .ranks = c.comm->size()};
}

/// The algorithm's operation: its own body, or the executor of its schedule. For callers that have agreed already.
operation_ptr prepare_operation(const algorithm& a, const exchange& x, const context& c, memory_budget& budget);

/// The same for an exchange inside another. Throws usage_error if the algorithm does not serve it: on all ranks, as
/// they have the same shape.
operation_ptr prepare_inside(const algorithm& a, const exchange& x, const context& c, memory_budget& budget);

/// The error that it throws then.
usage_error not_served_inside(const algorithm& a);

/// Its cost; infinite if prepare_inside would throw.
seconds cost_inside(const algorithm& a, const shape& s, const options& o, const machine_model& m) noexcept;

/// All algorithms, in the order of preference among equals.
std::span<const algorithm* const> algorithms() noexcept;
/// The algorithm of that name, or null.
const algorithm* find_algorithm(std::string_view name) noexcept;
/// "native, spread_out, …"
std::string algorithm_names();

}  // namespace taquin::detail
