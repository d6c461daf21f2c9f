// taquin tune: sparse exchanges.
#pragma once

#include <string>

#include "cli/rules.hpp"
#include "harness/progress.hpp"
#include "select/profile.hpp"

namespace taquin::cli {

/// Measures all ways by messages for some numbers of peers and sizes, and adds times to the profile; none where ranks
/// share memory, for auto has one way there. Returns what is fastest, in lines. Collective over the world; the same on
/// all ranks.
std::string tune_sparse(int ranks, int repetitions, const time_limit_of_all& limit, detail::profile& p,
                        harness::progress& display);

}  // namespace taquin::cli
