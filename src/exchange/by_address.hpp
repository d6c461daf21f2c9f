// Blocks in the form of MPI_Alltoallw that any sizes have: each as elements of a type that holds its address.
#pragma once

#include <mpi.h>

#include <memory_resource>
#include <vector>

#include "mpi/big_count.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Appends a count and a type for each block, for displacements of 0 from MPI_BOTTOM; `owned` keeps the types alive.
/// MPICH 4.0 takes a type for empty whose size is a multiple of 2^32, because it looks at 32 bits of it: such a block
/// goes as several elements.
void append_by_address(const blocks& b, int ranks, std::pmr::vector<int>& counts, std::pmr::vector<MPI_Datatype>& types,
                       std::pmr::vector<mpi::datatype>& owned);

}  // namespace taquin::detail
