// Blocks of any size as arguments of MPI_Alltoallw: each is elements of a type that contains its address.
#pragma once

#include <mpi.h>

#include <memory_resource>
#include <vector>

#include "mpi/big_count.hpp"
#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Appends a count and a type for each block, for displacements of 0 from MPI_BOTTOM; `owned` keeps the types alive.
/// MPICH 4.0 treats a type as empty whose size is a multiple of 2^32, because it looks at 32 bits of it: such a block
/// is given as several elements.
void append_by_address(const blocks& b, int ranks, std::pmr::vector<int>& counts, std::pmr::vector<MPI_Datatype>& types,
                       std::pmr::vector<mpi::datatype>& owned);

}  // namespace taquin::detail
