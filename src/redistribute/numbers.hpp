// A number to each of some ranks, by a sparse exchange: how ranks tell each other what follows.
#pragma once

#include <mpi.h>

#include <memory_resource>
#include <span>
#include <vector>

#include "base/memory_budget.hpp"
#include "taquin/redistribute.hpp"

namespace taquin::detail {

/// Numbers of ranks, which are in ascending order.
struct numbers {
  explicit numbers(std::pmr::memory_resource* memory) : ranks(memory), values(memory) {}
  std::pmr::vector<int> ranks;
  std::pmr::vector<int> values;
};

/// Part of a migration on `comm`.
struct numbers_exchange {
  MPI_Comm comm;
  const redistribute_options& choices;
  std::size_t peak = 0;     ///< the most bytes in use, those of the budget before included
  std::size_t lacking = 0;  ///< bytes that this rank's budget needs to allow, where that of some rank allows too few

  /// Sends the numbers of `mine` to their ranks; `come` gets those that other ranks have for this one, and takes from
  /// the budget, which bounds all that is taken meanwhile. Collective. Throws on all ranks before anything is sent.
  /// False where `come` has no memory: on this rank alone, while the others have their numbers; or, with `lacking`, on
  /// all ranks.
  [[nodiscard]] bool operator()(const numbers& mine, numbers& come, memory_budget& budget);
};

}  // namespace taquin::detail
