// The requests of a blocking call beside its exchange, as far as they decide what its rank brings to a step.
#pragma once

#include <cstdint>

#include "taquin/exchange.hpp"
#include "taquin/options.hpp"

namespace taquin::detail {

/// No variable in the environment concerns the algorithm of a blocking call. Nodes and a profile may be given.
bool plain_environment();
/// The algorithm is taquin's choice or that of calls through a node's memory, and no option concerns how the exchange
/// is done.
bool plain(const options& o);
/// The call or the environment names the algorithm: of a plain call, the one that goes through a node's memory.
bool by_name(const options& o);
/// A hash of all that must be the same on all ranks of such a call.
std::uint32_t choices_of(const exchange& x, bool named) noexcept;

}  // namespace taquin::detail
