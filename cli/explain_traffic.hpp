// taquin explain --traffic: the choices of auto for the calls of a recording, without running them.
#pragma once

#include <functional>
#include <string>

#include "harness/sizes.hpp"
#include "select/profile.hpp"
#include "workloads/traffic.hpp"

namespace taquin::cli {

/// Prints, where `speaks`, or writes as JSON where `json` names a file or "-", a row for each kind of call: the
/// choice and its predicted time. Calls that were not blocking are plans, as with `persistent` all are. `profile_for`
/// gives the profile for a number of ranks. All ranks lie on one node, because a recording has no nodes. Returns the
/// exit status.
int explain_traffic(const workloads::traffic& t, const std::string& title, const harness::memory_choice& memory,
                    const std::function<detail::profile(int ranks)>& profile_for, bool persistent,
                    const std::string& json, bool speaks);

}  // namespace taquin::cli
