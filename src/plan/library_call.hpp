// A blocking call as the MPI library's own, on the caller's communicator, without anything of taquin's between.
#pragma once

#include <memory_resource>
#include <vector>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Whether the MPI library's call of this form can say the exchange: counts and displacements of 32 bits. Local;
/// O(ranks) where the caller's arrays are wider.
bool library_can(const exchange& x, int ranks);

/// The MPI library's call of this form; arguments must be valid, its sides outlive this. Arrays that are wider than its
/// own are copied into `memory` when it is made. Not in place.
class library_call {
 public:
  library_call(const exchange& x, int ranks, std::pmr::memory_resource* memory);
  /// Collective; waits inside the MPI library.
  void run() const;

 private:
  // One side in the form that the MPI library takes: the caller's arrays where it can.
  class side {
   public:
    side(const blocks& b, int ranks, std::pmr::memory_resource* memory);

    void* base;
    MPI_Datatype type;
    const int* counts = nullptr;
    const int* displs = nullptr;
    const MPI_Datatype* types = nullptr;

   private:
    std::pmr::vector<int> numbers_;
    std::pmr::vector<MPI_Datatype> types_;
  };

  const exchange& x_;
  side send_;
  side recv_;
};

/// As MPI_Alltoallw, whatever the form, which no size is too large for, and in which MPI libraries wait for
/// nobody where there is nothing to wait for. Not in place; elements must be known.
void call_library_by_types(const exchange& x, int ranks, std::pmr::memory_resource* memory);

/// The same for a rank that has nothing for another rank and expects nothing, at the price of a look at its counts.
/// False, with nothing done, where that does not hold or its own block has anything unusual.
bool call_library_for_itself(const exchange& x, int rank, int ranks);

}  // namespace taquin::detail
