// Counts unexpected messages, which arrive at a rank before it has posted their receive, those of the MPI library's own
// collectives too: it replaces the functions to send and receive in Open MPI's table of them, `mca_pml`, beneath all
// that the profiling interface sees. Sends are matched with receives as MPI does, by sender, receiver and tag, in
// order. All are on one machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace taquin::in_flight {

struct peaks {
  std::int64_t messages = 0;  ///< most unexpected messages with data at one rank at a time
  std::int64_t bytes = 0;     ///< most bytes of them
  std::int64_t untaken = 0;   ///< most messages of one rank that are sent and unexpected
};

/// Takes the places. Collective over MPI_COMM_WORLD. False where the table is not as it is known, on all ranks.
bool install();
/// Counts from now on, from 0: messages of this origin (origins.hpp), or all. Collective; nothing is in flight.
void begin(std::string_view origin = {});
/// Stops counting: the most of any rank. Collective.
peaks end();

}  // namespace taquin::in_flight
