// How blocking calls between nodes learn what is best.
#pragma once

#include "algorithms/algorithm.hpp"
#include "model/contest.hpp"

namespace taquin::detail {

using contest = contest_of<algorithm>;

}  // namespace taquin::detail
