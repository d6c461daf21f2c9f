// Rules of TAQUIN_PROFILE by call site.
#pragma once

#include <functional>

namespace taquin::interpose {

/// Reads them. Collective over the world, after ranks have agreed to serve.
void load_site_rules();

/// There are some. The same on all ranks.
bool has_site_rules() noexcept;

/// Executes the call of `site`, by its rules. Ranks at different sites may have different ones, which the agreement
/// shows on all of them: it is repeated without rules, and the choice is taquin's.
void by_rules_of(const void* site, const std::function<void()>& exchange_or_plan);

}  // namespace taquin::interpose
