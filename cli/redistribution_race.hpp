// Timing redistributions beside the MPI library: of blocks, and of arrays from one layout to another.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/measure.hpp"
#include "harness/records.hpp"

namespace taquin::cli {

/// Seconds of one call, of the slowest rank. Collective.
double timed(const std::function<void()>& call);

/// Runs all contenders `repetitions` times in turn (0: as many as time allows), each once by `repetition`; prints a
/// table, or writes records as `json` says, to which `more` adds. The exit status: `failure_status` where one could not
/// run or delivered wrong bytes. Collective.
int race_redistributions(harness::setting s, std::vector<harness::contender>& contenders, int repetitions,
                         const std::string& json, const std::function<double(harness::contender&)>& repetition,
                         const std::function<void(nlohmann::json&, const harness::contender&)>& more);

}  // namespace taquin::cli
