// taquin tune --traffic: the fastest algorithms for the calls of a recording.
#pragma once

#include <functional>
#include <string>

#include "harness/progress.hpp"
#include "select/profile.hpp"
#include "workloads/traffic.hpp"

namespace taquin::cli {

/// Measures every kind of call of the recording with all algorithms that serve it, and adds times and rules to the
/// profile, whose model is known. Takes no longer than `within` seconds: what moves most bytes comes first. Returns a
/// table of what is fastest. `keep` gets the profile after each kind of call, so that an interrupted tune keeps what it
/// has measured. Collective over the world; the same on all ranks.
std::string tune_traffic(const workloads::traffic& t, int repetitions, double within, detail::profile& p,
                         harness::progress& display, const std::function<void(const detail::profile&)>& keep);

}  // namespace taquin::cli
