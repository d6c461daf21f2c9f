// Counts unexpected messages, which arrive at a rank before it posts their receive. It stands between taquin and the
// MPI library and matches sends with receives as MPI does: by sender, receiver and tag, in order. One machine.
#pragma once

#include <cstdint>

#include "support/instruments.hpp"

namespace taquin::test::flood {

struct peaks {
  std::int64_t unexpected = 0;        ///< most unexpected messages with data at this rank at a time
  std::int64_t unexpected_bytes = 0;  ///< most bytes of them
  std::int64_t untaken = 0;           ///< most messages of this rank that were unexpected
  std::int64_t sent = 0;              ///< messages with data that this rank has sent
};

// The counter (layer.cpp).
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
/// The unexpected messages so far. Local.
std::int64_t left();

}  // namespace taquin::test::flood
