// Rules of TAQUIN_PROFILE by call site.
#pragma once

#include <functional>

namespace taquin::interpose {

/// Reads them. Collective over the world, after ranks have agreed to serve.
void load_site_rules();

/// There are some. The same on all ranks.
bool has_site_rules() noexcept;

/// Does what `site` has called, by its rules. Ranks that come from different places may have different ones, of which
/// the agreement tells on all of them: it is done again without, and the choice is taquin's.
void by_rules_of(const void* site, const std::function<void()>& exchange_or_plan);

}  // namespace taquin::interpose
