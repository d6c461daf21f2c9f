// A blocking call that the MPI library does, directly on the caller's communicator.
#pragma once

#include <memory_resource>
#include <vector>

#include "taquin/exchange.hpp"

namespace taquin::detail {

/// Whether the MPI library's call of this form can express the exchange: counts and displacements fit 32 bits. Local;
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

/// Always MPI_Alltoallw, whatever the form. It takes any size, and in it MPI libraries do not wait for ranks that have
/// no data for this one. Not in place; elements must be known.
/// `memory` gives bytes_by_types(), and more where sizes or places exceed 32 bits.
void call_library_by_types(const exchange& x, int ranks, std::pmr::memory_resource* memory);

[[nodiscard]] std::size_t bytes_by_types(int ranks) noexcept;

/// The same for a rank that sends nothing to other ranks and expects nothing from them; it only has to read its counts.
/// Returns false, with nothing done, where the counts say otherwise or the rank's block for itself needs more.
bool call_library_for_itself(const exchange& x, int rank, int ranks);

}  // namespace taquin::detail
