// Why an algorithm does not serve an exchange, in words of the command's flags.
#pragma once

#include <string>

#include "algorithms/algorithm.hpp"

namespace taquin::harness {

/// "needs --in-place", "needs equal blocks", …: the property that the exchange lacks. For a shape not served.
std::string why_not(const detail::algorithm& a, const detail::shape& s);

}  // namespace taquin::harness
