// The errors in a rank's arguments of a sparse exchange.
#pragma once

#include <optional>

#include "base/checked.hpp"
#include "base/invalid_argument.hpp"
#include "taquin/options.hpp"
#include "taquin/sparse.hpp"

namespace taquin::detail {

std::optional<invalid_argument> check_sparse_options(const options& o);
/// Of its blocks; `total`: their elements.
std::optional<invalid_argument> check_sparse_blocks(const sparse_blocks& x, int ranks, checked& total);

}  // namespace taquin::detail
