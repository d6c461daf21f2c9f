// The problem of one rank, in units, which the in-place algorithms share.
//
// A unit is an element of the datatype; if no rank's datatype has gaps it is a byte, so that elements of any size can
// move through less memory than one of them takes. Locations count units from the buffer's base, and auxiliary memory
// follows where the last block ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "protocol/store.hpp"
#include "taquin/types.hpp"

namespace taquin::detail {

/// A peer's block: `length` units from location `at`.
struct peer_block {
  count_t at = 0;
  count_t length = 0;
  int peer = 0;
};

/// Units change their place inside the rank. `peer`: the rank that they will be sent to, −1 if they have arrived.
struct local_move : unit_move {
  int peer = -1;
};

/// Locations from here on are auxiliary memory: no block reaches so far.
[[nodiscard]] inline count_t border_of(std::span<const peer_block> out, std::span<const peer_block> in) noexcept {
  count_t end = 0;
  for (const auto& side : {out, in})
    for (const peer_block& b : side) end = std::max(end, b.at + b.length);
  return end;
}

}  // namespace taquin::detail
