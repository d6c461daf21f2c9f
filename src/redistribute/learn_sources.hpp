// "Which rank sends a block to each of my places?": by collectives that can be started, or by one sparse exchange in a
// call that may wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/memory_budget.hpp"
#include "call/call.hpp"
#include "mpi/communicator.hpp"
#include "node/channel.hpp"
#include "protocol/task.hpp"
#include "redistribute/machine.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

/// Fills `t`: three collectives. `valid`: whether this rank's map is, if that is not known. If it is false on some
/// rank, it is on all ranks after the first collective; no target is exchanged then.
task learn_sources(machine& m, targets& t, bool* valid = nullptr);
/// Bytes that it takes meanwhile.
std::size_t learn_sources_bytes(const table_sizes& s) noexcept;

/// The same by a sparse exchange: part of a redistribution.
struct target_exchange {
  /// With fewer ranks on several nodes the exchange takes longer than learn_sources; so it does with fewer of which
  /// each is alone on its node.
  static constexpr int least_on_nodes = 16;
  static constexpr int least_alone = 32;

  enum class outcome : std::uint8_t {
    learnt,    ///< all of it
    not_here,  ///< this rank has no place for incoming blocks; others may have their targets
    refused,   ///< on all ranks: some rank's map is invalid, or it has no memory
    lacking    ///< on all ranks: the memory does not suffice
  };

  const call& running;
  const redistribute_options& choices;
  std::size_t memory;    ///< bytes that the sparse exchange may take: the same on all ranks
  std::size_t peak = 0;  ///< the most bytes in use, those before included
  statistics done{};     ///< of the sparse exchange

  /// Whether it is expected to be faster than learn_sources, and `memory` is enough to refuse the blocks of a rank
  /// without a place for them, if ranks have at most so many blocks. The same on all ranks.
  static bool suits(mpi::communicator& comm, const channel* node, std::size_t blocks, std::size_t memory);
  /// Fills `t`, unless some rank's map is not `valid`. Collective, blocking; in a stage. Throws if a rank has
  /// aborted.
  [[nodiscard]] outcome operator()(const machine& m, targets& t, bool valid, memory_budget& budget);
  /// Bytes that it takes of the budget meanwhile, without those of the sparse exchange.
  static std::size_t bytes(const table_sizes& s) noexcept;
};

}  // namespace taquin::detail
