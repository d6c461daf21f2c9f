// What the in-place algorithms share: one rank's problem, in units.
//
// A unit is an element of the datatype; where no rank's datatype has holes it is a byte, so that elements of any size
// can move through less memory than one of them takes. Locations count units from the buffer's base.
#pragma once

#include <cstdint>

#include "taquin/types.hpp"

namespace taquin::detail {

/// A peer's block: `length` units from location `at`.
struct peer_block {
  count_t at = 0;
  count_t length = 0;
  int peer = 0;
};

/// Where units lie: in the user's buffer, or in auxiliary memory.
struct location {
  count_t at = 0;
  bool aux = false;
};

/// `length` units change their place inside the rank. The two runs may overlap.
struct local_move {
  location from;
  location to;
  count_t length = 0;
};

}  // namespace taquin::detail
