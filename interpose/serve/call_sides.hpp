// The arguments of a call that taquin starts for the program, until it is complete.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/owned.hpp"
#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Whether taquin can do an exchange with this side. One with invalid arguments goes to the MPI library, which reports
/// the error. An empty block needs no type.
inline bool is_valid(const blocks& side, std::size_t peers) {
  for (std::size_t i = 0; i < peers; ++i) {
    const int at = static_cast<int>(i);
    if (side.counts.missing() || side.displs.missing() || side.counts[at] < 0) return false;
    if (side.counts[at] > 0 && (side.types != nullptr ? side.types[i] : side.element.type) == MPI_DATATYPE_NULL)
      return false;
  }
  return true;
}

/// The blocks of one call, with copies of all that the program may free before its request is complete. Blocks in the
/// memory of a device are staged: only the MPI library may know how to read them.
class held_side {
 public:
  /// `elements` has the capacity for all peers where nothing is to be allocated.
  held_side(const blocks& side, std::size_t peers, bool keep_types, std::vector<element> elements = {});
  /// To be called in each start: the blocks' contents where they are staged, received ones too, of which a peer may
  /// send less.
  void stage();
  /// The received blocks, where they are staged: to be called once they are complete.
  void deliver();
  /// The memory that was given to it.
  [[nodiscard]] std::vector<element> elements() && noexcept { return std::move(elements_); }
  [[nodiscard]] const blocks& view() const noexcept { return staged_ ? staging_view_ : view_; }

 private:
  void keep(element& e);
  void to_view(bool in);

  blocks view_, staging_view_;
  std::size_t peers_;
  bool staged_ = false;
  std::vector<element> elements_;
  std::vector<mpi::datatype> types_;
  std::vector<std::int64_t> counts_, offsets_;  // of the staging
  std::vector<std::byte> staging_;
};

/// An inactive request, which the program holds for a call that taquin does. Not one of MPI_PROC_NULL: MPICH 4.0 keeps
/// that rank in the object of a request that is freed, and does not start a persistent collective that gets it next.
inline mpi::inactive_request make_stand_in() {
  MPI_Request request = MPI_REQUEST_NULL;
  TAQUIN_MPI(PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request));
  return mpi::inactive_request(request);
}

}  // namespace taquin::interpose
