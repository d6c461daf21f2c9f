// One random exchange from filling to comparison.
#pragma once

#include <string>

#include "soak/layout.hpp"
#include "soak/program.hpp"
#include "taquin/plan.hpp"

namespace taquin::soak {

/// Starts the plan's next exchange with new data, or completes one that is under way.
void start(plan& p, buffers& mine, std::uint64_t salt);
void complete(plan& p, bool by_tests);

/// Runs the recipe. What is wrong; empty when nothing is. Collective.
std::string run_exchange(const recipe& r, const turn& t, buffers& mine);

/// One rank expects more than its peer sends, which `check` finds on all ranks. What is wrong, as above. Collective.
std::string run_checked(recipe r, const turn& t, buffers& mine);

}  // namespace taquin::soak
