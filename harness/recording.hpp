// Traffic files as the subcommands read them.
#pragma once

#include <optional>
#include <string>

#include "workloads/traffic.hpp"

namespace taquin::harness {

/// Every rank reads; a fault on any is a failure on all, so is a recording without calls, and one of another number of
/// ranks where that is given. Collective over the world.
workloads::traffic read_recording(const std::string& path, std::optional<int> ranks = {});

}  // namespace taquin::harness
