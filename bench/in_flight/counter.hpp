// Counts messages that come to a rank before it has asked for them, those of the MPI library's own collectives too: it
// takes the place of the functions to send and receive in Open MPI's table of them, `mca_pml`, beneath all that the
// profiling interface sees. Sends are matched with receives as MPI does, by sender, receiver and tag, in order. All are
// on one machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace taquin::in_flight {

struct peaks {
  std::int64_t messages = 0;  ///< most messages with data that were at one rank at once and not asked for
  std::int64_t bytes = 0;     ///< most bytes of them
  std::int64_t untaken = 0;   ///< most messages that one rank had sent and that were not asked for
};

/// Takes the places. Collective over MPI_COMM_WORLD. False where the table is not as it is known, on all ranks.
bool install();
/// Counts from now on, from 0: messages of this origin (origins.hpp), or all. Collective; nothing is on its way.
void begin(std::string_view origin = {});
/// Ends to count: the most of any rank. Collective.
peaks end();

}  // namespace taquin::in_flight
