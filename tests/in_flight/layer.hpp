// Counts messages that come to a rank before it has asked for them. It stands between the library and the MPI library
// and matches sends with receives as MPI does: by sender, receiver and tag, in order. All ranks are on one machine.
#pragma once

#include <cstdint>

#include "support/instruments.hpp"

namespace taquin::test::flood {

struct peaks {
  std::int64_t unexpected = 0;        ///< most messages with data that were at this rank at once and not asked for
  std::int64_t unexpected_bytes = 0;  ///< most bytes of them
  std::int64_t untaken = 0;           ///< most messages that this rank had sent and that were not asked for
  std::int64_t sent = 0;              ///< messages with data that this rank has sent
};

// What counts (layer.cpp).
peaks counted();

/// Counts from now on, from 0. Collective over MPI_COMM_WORLD; nothing is on its way.
void begin();
/// This rank's, until now. Local.
inline peaks now() {
  const peaks p = counted();
  instruments::used(instruments::kind::message_counter);
  if (p.sent > 0 || p.unexpected > 0) instruments::fired(instruments::kind::message_counter);
  return p;
}
/// What is sent so far and not asked for. Local.
std::int64_t left();

}  // namespace taquin::test::flood
