// The messages that taquin's first call on a communicator makes the MPI library send.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

namespace taquin::in_flight {

struct settings {
  int calls = 100;
  int late = 200;  // milliseconds
  std::vector<std::string> algorithms{"auto"};
  std::vector<std::string> patterns{"all_to_one", "random", "hot"};
  bool first = false;
};

inline void be_late(const settings& s) { usleep(static_cast<unsigned>(s.late) * 1000U); }

/// Prints the most unexpected messages at a rank, in each of the first calls on a communicator, by their origin; then
/// those of each function of the MPI library's by itself, called by this program on a communicator that taquin does not
/// know. Rank 0 is late. False if a result is wrong, on all ranks.
bool first_calls(const settings& s, int rank, int ranks);

}  // namespace taquin::in_flight
