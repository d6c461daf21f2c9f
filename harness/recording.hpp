// Traffic files as the subcommands read them.
#pragma once

#include <optional>
#include <string>

#include "workloads/traffic.hpp"

namespace taquin::harness {

/// Every rank reads; an error on any is a failure on all, so is a recording without calls, and one of another number of
/// ranks where that is given. Without sparse exchanges, which are not replayed. Collective over the world.
workloads::traffic read_recording(const std::string& path, std::optional<int> ranks = {});

/// Seconds in a recording's calls, and of these until the last rank had entered them, of the rank with the most: calls
/// on communicators of different ranks run side by side. Pure.
struct time_in_calls {
  double seconds = 0;
  double waiting = 0;
};
time_in_calls busiest_rank(const workloads::traffic& t);

}  // namespace taquin::harness
