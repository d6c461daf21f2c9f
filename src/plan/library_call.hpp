// A blocking call as the MPI library's own, on the caller's communicator, without anything of taquin's between.
#pragma once

#include <memory_resource>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Whether the MPI library's call of this form can say the exchange: counts and displacements of 32 bits, one block
/// each way for every pair in place. Local; O(ranks) where the caller's arrays are wider.
bool library_can(const exchange& x, int ranks);

/// The MPI library's call of this form; arguments must be valid. Arrays that are wider than its own are copied into
/// `memory`. Collective; waits inside the MPI library.
void call_library(const exchange& x, int ranks, std::pmr::memory_resource* memory);

/// The same as MPI_Alltoallw whatever the form, which no size is too large for, and in which MPI libraries wait for
/// nobody where there is nothing to wait for. Not in place; elements must be known.
void call_library_by_types(const exchange& x, int ranks, std::pmr::memory_resource* memory);

/// The same for a rank that has nothing for another rank and expects nothing, at the price of a look at its counts.
/// False, with nothing done, where that does not hold or its own block has anything unusual.
bool call_library_for_itself(const exchange& x, int rank, int ranks);

}  // namespace taquin::detail
