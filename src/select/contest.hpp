// Online autotuning: how blocking calls between nodes find the fastest algorithm.
#pragma once

#include "algorithms/algorithm.hpp"
#include "model/contest.hpp"

namespace taquin::detail {

using contest = contest_of<algorithm>;

}  // namespace taquin::detail
