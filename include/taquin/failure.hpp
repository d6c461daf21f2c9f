// For programs that survive a failure: which ranks have failed, and which data are whole.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "taquin/error.hpp"
#include "taquin/types.hpp"

namespace taquin {

/// Processes of the communicator have ended, or it was revoked. Thrown where a rank waits in a call on it, or begins
/// one: taquin cannot use the communicator any more, and has revoked its own. `mpi_class()` is MPIX_ERR_PROC_FAILED
/// where ranks have failed and MPIX_ERR_REVOKED where none is known to have, in MPI libraries that have these, else
/// MPI_ERR_OTHER.
class peer_failed : public error {
 public:
  /// A text, its class, and the ranks.
  peer_failed(const std::string& what, int mpi_class, std::vector<int> ranks)
      : error(what, mpi_class), ranks_(std::move(ranks)) {}
  /// Those that are known to have failed, in order; empty where the communicator was revoked.
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return ranks_; }

 private:
  std::vector<int> ranks_;
};

/// The data that are whole after a failed exchange in place, redistribution or migration. With separate buffers the
/// send side is never changed.
namespace failure {

/// The state of a run of data.
enum class state : int {
  stands,    ///< of this rank's for a peer: whole, at `at`; the peer may have it as well
  arrived,   ///< from a peer: whole and in its place, at `at`
  staged,    ///< whole, but not in the caller's array: in block_map::staged, from unit `at` on
  missing,   ///< from a peer: not here as far as is known; the peer had it last
  unknown,   ///< of a peer's and this rank's that two ranks were swapping, or that was moved when a call failed: it may
             ///< be in either place, or damaged
  displaced  ///< a block of a redistribution for this rank: whole, at `at`, which is not its place
};

/// `length` consecutive units from unit `offset` on. In an exchange in place `offset` counts the units of the block for
/// or from `peer`; places count units from the buffer. A migration is such an exchange of elements, sorted by
/// destination: `offset` counts those for or from `peer`. In a redistribution a unit is a block, and `offset` is the
/// place in the array of the rank that it goes to. Between layouts a unit is a byte, and `offset` such a place as well:
/// layout::find() times the bytes of an element, for `outgoing` without the leading dimensions that are a rank's own.
struct part {
  state what = state::missing;  ///< its state
  int peer = 0;                 ///< the rank that it goes to or is from
  count_t offset = 0;           ///< units of the block before it; of redistributions: the place that it goes to
  count_t length = 0;           ///< units of it
  count_t at = -1;              ///< its place; −1: none
};

/// The map of one rank. Outgoing data that it does not list have left the rank.
struct block_map {
  bool known = false;            ///< false: it has failed before anything moved, or there was no memory for this
  count_t unit_bytes = 0;        ///< data bytes of a unit: a block of a redistribution, or a part of one where blocks
                                 ///< are divided; in place an element, or a byte where no rank's type has gaps; of
                                 ///< several arrays that migrate together an item of all of them; between layouts 1
  std::vector<part> outgoing{};  ///< data to be sent: stands, unknown, or, of a redistribution, staged
  std::vector<part> incoming{};  ///< all data that this rank receives or keeps, in order of place
  std::vector<std::byte> staged{};  ///< data, without gaps
};

/// The map of this rank for the last exchange in place (`in_place` and `in_place_phases`), redistribution or migration
/// that failed in this thread, blocking or not; also between layouts, whose map is made here, with a part for each run
/// that is consecutive before and afterwards. Local. Valid until another is made or fails.
[[nodiscard]] const block_map& blocks() noexcept;

}  // namespace failure

}  // namespace taquin
