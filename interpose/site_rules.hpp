// Rules of TAQUIN_PROFILE by call site.
#pragma once

#include <mpi.h>

#include <string_view>

#include "taquin/exchange.hpp"

namespace taquin::interpose {

/// Reads them. Collective over the world, after ranks have agreed to serve.
void load_site_rules();

/// There are some. The same on all ranks.
bool has_site_rules() noexcept;

/// The algorithm that they name for such a call from `site`; empty: none. Ranks may call from different places.
std::string_view algorithm_at(const void* site, const exchange& x);

}  // namespace taquin::interpose
