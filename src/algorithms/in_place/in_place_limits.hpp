// Bounds of the state machine of in_place, and how large its chunks are.
#pragma once

#include <cstddef>

#include "algorithms/in_place/problem.hpp"
#include "base/sizes.hpp"
#include "protocol/port.hpp"

namespace taquin::detail {

/// Bounds of one rank's machine. `runs` must be the same on all ranks.
struct in_place_limits {
  int runs = 1;             ///< unsent runs per message from which on only the first may be requested
  int per_peer = 1;         ///< requests to one peer that are not answered yet
  int requests = 1;         ///< requests to all peers that are not answered yet
  int sends = 1;            ///< answers that are not complete yet
  int staged = 1;           ///< runs of data in auxiliary memory
  int columns = 1;          ///< arrays that have parts of each unit
  count_t aux = 1;          ///< units of auxiliary memory
  count_t chunk = 1;        ///< most units of a request in place
  count_t aux_chunk = 1;    ///< most units of a request through auxiliary memory
  count_t small_chunk = 1;  ///< fewer units are requested only when the machine can do nothing else
  count_t swap_chunk = 1;   ///< most units of a swap
  std::size_t bytes_per_test =
      port::bytes_per_test;  ///< bytes that are moved inside the rank between two tests of the operation
  bool scratch = false;      ///< locations that only send blocks cover serve as auxiliary memory when they are free

  /// Sets `aux` to `units`, and chunks that suit `bytes` of auxiliary memory, units of `unit_bytes` and that many
  /// peers, whose data are requested or, if `fetched`, fetched; `received` units arrive from all of them.
  void set_aux(count_t units, std::size_t bytes, std::size_t unit_bytes, int peers, count_t received,
               bool fetched = false) noexcept;

  [[nodiscard]] std::size_t segments(std::size_t out, std::size_t in) const noexcept {
    return as_size(runs + per_peer) * out + 2 * in + as_size(sends) + 4;
  }
  [[nodiscard]] std::size_t gaps(std::size_t in) const noexcept {
    return as_size(runs + per_peer) * in + as_size(requests + staged) + 4;
  }
  [[nodiscard]] std::size_t free_runs() const noexcept { return as_size(staged) + 3; }
};

}  // namespace taquin::detail
