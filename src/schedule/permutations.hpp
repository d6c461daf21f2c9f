// Permutations: every rank sends to one other and receives from one, as schedules.
//
// Source: Communication Patterns and MPI Primitives, §3. docs/internals/patterns.md shows what their naive versions do.
#pragma once

#include <memory_resource>

#include "schedule/schedule.hpp"

namespace taquin::detail {

/// Which ranks exchange with each other.
enum class permutation : std::uint8_t {
  shift,     ///< rank to rank + k on a line; who has no such neighbour does not send, or receive
  ring,      ///< rank to rank + k, modulo p
  hypercube  ///< rank with rank xor k
};

/// In which order a rank acts. Only `together` neither serialises nor deadlocks whatever the size of the messages.
enum class ordering : std::uint8_t {
  together,   ///< send and receive in one round
  send_first  ///< first send, then receive: the trap
};

/// One permutation by k (for `shift` and `ring` any sign) of `bytes` bytes, from place::send to place::recv.
schedule permute(permutation kind, ordering order, int rank, int ranks, int k, count_t bytes,
                 std::pmr::memory_resource* memory);

}  // namespace taquin::detail
