// Why an algorithm does not serve an exchange, in words of the command's flags.
#pragma once

#include <string>

#include "algorithms/algorithm.hpp"

namespace taquin::harness {

/// "needs --in-place", "needs equal blocks", …: what the exchange would have to be. For a shape that it does not serve.
std::string why_not(const detail::algorithm& a, const detail::shape& s);

}  // namespace taquin::harness
