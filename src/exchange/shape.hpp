// What all ranks know alike of an exchange, after agreement; and what one rank knows of its own part.
#pragma once

#include <cstdint>

#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

struct topology;

/// The same on every rank. Algorithms decide from this alone whether they serve and how much memory they take.
struct shape {
  int ranks = 1;
  exchange::form kind = exchange::form::alltoall;
  bool inter = false;                 ///< an intercommunicator
  bool in_place = false;              ///< one buffer for both sides
  bool symmetric = true;              ///< in place: the two blocks of a pair coincide
  bool uniform = true;                ///< all blocks of all ranks have the same number of bytes
  bool large = false;                 ///< some rank's counts or displacements do not fit the MPI library's ints
  std::uint64_t max_block_bytes = 0;  ///< largest block that any rank sends
  std::uint64_t max_rank_bytes = 0;   ///< most bytes that any rank sends, to itself included
  int nodes = 0;                      ///< nodes of the communicator; 0 where the algorithm did not ask for them
  int largest_node = 1;               ///< ranks on the largest and the smallest of them
  int smallest_node = 1;
};

/// One rank's part of an exchange, without any MPI object but type handles: schedules are built from this, also where
/// no MPI runs.
struct local_exchange {
  int rank = 0;
  int ranks = 1;
  bool in_place = false;
  blocks send{};
  blocks recv{};
  const topology* nodes = nullptr;  ///< for algorithms that ask for them; null: every rank is a node of its own
};

}  // namespace taquin::detail
