// One random exchange from filling to comparison.
#pragma once

#include <string>

#include "soak/layout.hpp"
#include "soak/program.hpp"
#include "taquin/plan.hpp"

namespace taquin::soak {

/// Starts the plan's next exchange with new data, or completes a started one.
void start(plan& p, buffers& mine, std::uint64_t salt);
void complete(plan& p, bool by_tests);

/// Runs the recipe. Returns the error; empty when there is none. Collective.
std::string run_exchange(const recipe& r, const turn& t, buffers& mine);

/// One rank expects more than its peer sends, which `check` finds on all. Returns the error, as above. Collective.
std::string run_checked(recipe r, const turn& t, buffers& mine);

}  // namespace taquin::soak
